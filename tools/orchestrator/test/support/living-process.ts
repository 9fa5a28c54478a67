import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isAlive, type ProcessIdentity } from '@callboard/runtime/process-identity';
import { until } from '../../../../test-support/until.ts';
import { launchFiles } from '../../src/core/claude/claude-process.ts';
import { findMarkedProcesses } from '../../src/platform/process-table.ts';
import type { Kit } from './kit.ts';

/**
 * Returns the single running `claude` of a stage. Processes that it started carry the same marker, but not its input; a child
 * has that input only for a moment, between its fork and its exec.
 */
export async function livingProcess(kit: Kit, stageId: string): Promise<ProcessIdentity> {
  let found: ProcessIdentity[] = [];
  await until(`${stageId} has one process`, async () => {
    found = await processesOn(kit, stageId);
    return found.length === 1;
  });
  const [only] = found;
  if (only === undefined) throw new Error(`${stageId} has no process`);
  return only;
}

/** Returns all processes that read the input of a stage's `claude`. */
async function processesOn({ client, dataDir }: Kit, stageId: string): Promise<ProcessIdentity[]> {
  const { session } = await client.command('get_session', { stageId });
  const launchId = session.launchId ?? '';
  const { input } = launchFiles(join(dataDir, 'sessions', stageId, launchId));
  const found: ProcessIdentity[] = [];
  for (const pid of (await findMarkedProcesses()).get(launchId) ?? []) {
    if ((await readlink(`/proc/${pid}/fd/0`).catch(() => null)) !== input) continue;
    const identity = await identify(pid);
    if (identity !== null) found.push(identity);
  }
  return found;
}

const CHECKS_WHEN_IDLE = 20;
const BETWEEN_CHECKS_MS = 50;

/**
 * Resolves when a process has nothing left to do, for work that nobody can see from outside: in many consecutive checks
 * no thread of it runs or is ready to run, however busy the machine is.
 */
export async function untilIdle({ pid }: ProcessIdentity): Promise<void> {
  let checks = 0;
  await until(`process ${pid} is at rest`, async () => {
    const tasks = await readdir(`/proc/${pid}/task`);
    const stats = await Promise.all(
      tasks.map((task) => readFile(`/proc/${pid}/task/${task}/stat`, 'utf8').catch(() => ') R')),
    );
    const isIdleNow = stats.every((stat) => stat.slice(stat.lastIndexOf(')') + 2).startsWith('S'));
    checks = isIdleNow ? checks + 1 : 0;
    await sleep(BETWEEN_CHECKS_MS);
    return checks >= CHECKS_WHEN_IDLE;
  });
}

/** Ends a process by SIGKILL; resolves when it is gone, which takes a moment. */
export async function killProcess(identity: ProcessIdentity): Promise<void> {
  process.kill(identity.pid, 'SIGKILL');
  await until(`process ${identity.pid} is gone`, async () => !(await isAlive(identity)));
}
