import { OperationalError } from '../errors.ts';
import { type Detached, type DetachedJob, detachHere } from './detach-here.ts';
import { type Job, type Ran, runHere } from './run-here.ts';
import { createSpawner, type Spawner } from './spawner.ts';

export type { Detached, DetachedJob, ProcessExit } from './detach-here.ts';
export type { Job, Ran } from './run-here.ts';

let spawner: Spawner | undefined;
let users = 0;

/** Runs a program to its end. Ends it when the signal aborts. Never rejects. */
export const run = (job: Job, signal?: AbortSignal): Promise<Ran> =>
  spawner === undefined ? runHere(job, signal) : spawner.run(job, signal);

/**
 * Runs a program that must succeed.
 * @throws OperationalError `program_failed`, with the first line of its stderr or, without one, the complaint
 */
export async function must(job: Job): Promise<void> {
  const { failed, isMissing, stderr, complaint } = await run(job);
  if (isMissing) throw new OperationalError('program_failed', `there is no ${job.command}`);
  if (failed) throw new OperationalError('program_failed', stderr.trim().split('\n', 1)[0] || (complaint ?? ''));
}

/** Starts a program that outlives Callboard. @throws a system error; OperationalError `spawner_ended` */
export const detach = (job: DetachedJob): Promise<Detached> =>
  spawner === undefined ? detachHere(job) : spawner.detach(job);

/**
 * Makes this process start all others through a spawner, so that starting them never blocks its event loop. Like the thread
 * pool, the spawner is shared by the whole process.
 * @returns a function that gives the spawner up; when the last user calls it, the spawner ends
 */
export function useSpawner(): () => Promise<void> {
  spawner ??= createSpawner();
  users++;
  return async () => {
    if (--users > 0) return;
    const last = spawner;
    spawner = undefined;
    await last?.stop();
  };
}
