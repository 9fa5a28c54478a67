import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { systemCode } from '@callboard/runtime/errors';
import { until } from '../../test-support/until.ts';

const execute = promisify(execFile);

/** Runs a command in a folder and returns its output. */
export async function run(command: string, args: string[], cwd: string): Promise<string> {
  return (await execute(command, args, { cwd })).stdout;
}

/** The living processes whose command line names the folder, as `pid args`. */
export async function processesOf(folder: string): Promise<string[]> {
  const { stdout } = await execute('ps', ['-eo', 'pid=,stat=,args='], { maxBuffer: 16 * 1024 * 1024 });
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.includes(folder) && !/^\d+ Z/.test(line));
}

/** Pids of those that run `claude`; a child of one has its command line for a moment, between its fork and its exec. */
export async function claudePids(folder: string): Promise<number[]> {
  const lines = await processesOf(folder);
  const pids = lines
    .filter((line) => line.includes('--permission-prompt-tool=stdio'))
    .map((line) => Number.parseInt(line, 10));
  const parents = await Promise.all(pids.map(parentOf));
  return pids.filter((_, index) => !pids.includes(parents[index] ?? 0));
}

async function parentOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
}

/** Returns the one that works for a stage: in its worktree. */
export async function claudePidOf(folder: string, stageId: string): Promise<number> {
  for (const pid of await claudePids(folder)) {
    if (basename(await readlink(`/proc/${pid}/cwd`)) === stageId) return pid;
  }
  throw new Error(`no claude runs for ${stageId}`);
}

const MARKS = {
  orchestrator: 'tools/orchestrator/dist/main.js',
  'web server': 'tools/web-server/dist',
  supervisor: 'tools/cli/dist',
};

/** Returns the pid of a part of the Callboard that was started as this process, or is it; null while it does not exist. */
export async function partPid(startedPid: number, part: keyof typeof MARKS): Promise<number | null> {
  for (const pid of [startedPid, ...(await descendants(startedPid))]) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(MARKS[part])) return pid;
  }
  return null;
}

/** Ends a part of the Callboard that was started as this process by SIGKILL, as soon as it runs. */
export async function killPart(startedPid: number | undefined, part: keyof typeof MARKS): Promise<void> {
  await until(`the ${part} runs`, async () => {
    const pid = startedPid === undefined ? null : await partPid(startedPid, part);
    return pid !== null && process.kill(pid, 'SIGKILL');
  });
}

/** Ends processes by SIGKILL; some of them may have ended since they were listed. */
export function killAll(pids: Iterable<number>): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (systemCode(error) !== 'ESRCH') throw error;
    }
  }
}

/** Returns the children that the main thread of a process has started. */
export async function childrenOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return children.split(' ').filter(Boolean).map(Number);
}

/** Returns all descendants of a process. */
export async function descendants(pid: number): Promise<number[]> {
  const direct = await childrenOf(pid);
  return [...direct, ...(await Promise.all(direct.map(descendants))).flat()];
}

/** Returns the processes of the Callboard that was started as this one, without what it has started: a `claude` has its own Unix session. */
export async function ownProcesses(startedPid: number): Promise<number[]> {
  const session = await sessionOf(startedPid);
  const own = [startedPid];
  for (const pid of await descendants(startedPid)) if ((await sessionOf(pid)) === session) own.push(pid);
  return own;
}

/** The Unix session of a process. */
async function sessionOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3];
}

/** For how long, in ms, the main thread of a process was ready to run but had no CPU; 0 if the system does not report it. */
export async function waitedForCpu(pid: number): Promise<number> {
  const [, waited = '0'] = (await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '')).split(' ');
  return Number(waited) / 1_000_000;
}
