import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { claudePids } from '../support/processes.ts';
import type { Random } from './random.ts';

export type Victim = 'orchestrator' | 'web server' | 'claude';

const MARKS: Record<Exclude<Victim, 'claude'>, string> = {
  orchestrator: 'tools/orchestrator/src',
  'web server': 'tools/web-server/src',
};

/** Ends one part after the other by SIGKILL, at random moments, until it has done so often enough. Returns what it killed. */
export async function kill(
  folder: string,
  supervisorPid: number,
  {
    victims,
    times,
    random,
    signal,
  }: { victims: readonly [Victim, ...Victim[]]; times: number; random: Random; signal: AbortSignal },
): Promise<Record<Victim, number>> {
  const killed: Record<Victim, number> = { orchestrator: 0, 'web server': 0, claude: 0 };
  for (let total = 0; total < times; ) {
    await sleep(random.between(20, 900), undefined, { signal });
    const victim = random.pick(victims);
    const pid = victim === 'claude' ? await anyClaude(folder, random) : await serverPid(supervisorPid, MARKS[victim]);
    if (pid === null) continue;
    process.kill(pid, 'SIGKILL');
    killed[victim] += 1;
    total += 1;
  }
  return killed;
}

async function anyClaude(folder: string, random: Random): Promise<number | null> {
  const [first, ...others] = await claudePids(folder);
  return first === undefined ? null : random.pick([first, ...others]);
}

async function serverPid(supervisorPid: number, mark: string): Promise<number | null> {
  for (const pid of await descendants(supervisorPid)) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(mark)) return pid;
  }
  return null;
}

/** All processes below one. */
async function descendants(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const direct = children.split(' ').filter(Boolean).map(Number);
  return [...direct, ...(await Promise.all(direct.map(descendants))).flat()];
}
