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
