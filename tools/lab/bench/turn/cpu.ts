import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** The CPU time of all threads of a process until now. */
export async function cpuMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = threads.map(async (thread) => {
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0'); // it may have ended
    return Number(text.split(' ')[0]) / 1e6;
  });
  return sum(await Promise.all(times));
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** What one process used: per piece of work, beyond what it uses at rest in the same time; and at rest. */
export interface CpuUse {
  msPerWork: number;
  msPerSecondAtRest: number;
}

/** Adds up what processes use while they work, and while they rest. */
export function createCpuAccount(pids: readonly number[]) {
  const used = () => Promise.all(pids.map(cpuMs));
  const zero = () => ({ count: 0, ms: 0, cpu: pids.map(() => 0) });
  const sums = { work: zero(), rest: zero() };
  let before = { at: 0, cpu: pids.map(() => 0) };
  return {
    async begin(): Promise<void> {
      before = { cpu: await used(), at: performance.now() };
    },
    /** Adds what they used since `begin`. */
    async end(what: 'work' | 'rest'): Promise<void> {
      const { count, ms, cpu } = sums[what];
      const now = await used();
      sums[what] = {
        count: count + 1,
        ms: ms + performance.now() - before.at,
        cpu: cpu.map((sofar, index) => sofar + (now[index] ?? 0) - (before.cpu[index] ?? 0)),
      };
    },
    perWork: (): CpuUse[] =>
      pids.map((_, index) => {
        const { work, rest } = sums;
        const restPerMs = (rest.cpu[index] ?? 0) / rest.ms;
        const beyond = (work.cpu[index] ?? 0) - restPerMs * work.ms;
        return { msPerWork: beyond / work.count, msPerSecondAtRest: restPerMs * 1_000 };
      }),
  };
}

const CHECK_INTERVAL_MS = 60;
/** In a check of this length a process at rest uses at most this much, for its timers. */
const REST_MS = 4;
const PATIENCE_MS = 3_000;

/** Resolves once these processes are at rest; after a while in any case. */
export async function whenIdle(pids: readonly number[]): Promise<void> {
  const used = async () => sum(await Promise.all(pids.map(cpuMs)));
  const begun = performance.now();
  let before = await used();
  while (performance.now() - begun < PATIENCE_MS) {
    await sleep(CHECK_INTERVAL_MS);
    const now = await used();
    if (now - before < REST_MS) return;
    before = now;
  }
}
