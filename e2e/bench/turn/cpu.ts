import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** The CPU time of all threads of a process until now. */
async function cpuMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = threads.map(async (thread) => {
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0'); // it may have ended
    return Number(text.split(' ')[0]) / 1e6;
  });
  return sum(await Promise.all(times));
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** What one process used: for each piece of work, beyond what it uses at rest in the same time; and that. */
export interface CpuUse {
  msPerWork: number;
  msPerSecondAtRest: number;
}

/** Adds up what processes use for pieces of work. */
export function createCpuAccount(pids: readonly number[]) {
  const used = () => Promise.all(pids.map(cpuMs));
  const works: { ms: number; cpu: number[] }[] = [];
  let atRest = { ms: 1, cpu: pids.map(() => 0) };
  let before = { at: 0, cpu: pids.map(() => 0) };
  const since = async () => {
    const cpu = await used();
    return { ms: performance.now() - before.at, cpu: cpu.map((ms, index) => ms - (before.cpu[index] ?? 0)) };
  };
  async function begin(): Promise<void> {
    before = { cpu: await used(), at: performance.now() };
  }
  return {
    begin,
    /** What was begun last is one piece of work, and over. */
    async end() {
      works.push(await since());
    },
    /** Measures them while there is nothing to do. */
    async rest(ms: number) {
      await begin();
      await sleep(ms);
      atRest = await since();
    },
    perWork: (): CpuUse[] =>
      pids.map((_, index) => {
        const restPerMs = (atRest.cpu[index] ?? 0) / atRest.ms;
        const beyond = works.map(({ ms, cpu }) => (cpu[index] ?? 0) - restPerMs * ms);
        return { msPerWork: sum(beyond) / works.length, msPerSecondAtRest: restPerMs * 1_000 };
      }),
  };
}

const LOOK_MS = 60;
/** In so long a look a process that is at rest uses this much at most, for its timers. */
const REST_MS = 4;
const PATIENCE_MS = 3_000;

/** Resolves once these processes are at rest; after a while in any case. */
export async function whenAtRest(pids: readonly number[]): Promise<void> {
  const used = async () => sum(await Promise.all(pids.map(cpuMs)));
  const begun = performance.now();
  let before = await used();
  while (performance.now() - begun < PATIENCE_MS) {
    await sleep(LOOK_MS);
    const now = await used();
    if (now - before < REST_MS) return;
    before = now;
  }
}
