import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** The CPU time of all living threads of a process until now; 0 if it has ended. */
export async function cpuMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const times = threads.map(async (thread) => {
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0'); // it may have ended
    return Number(text.split(' ')[0]) / 1e6;
  });
  return sum(await Promise.all(times));
}

const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);

/** The kernel reports the time of ended children in hundredths of a second; over many turns that evens out. */
const TICK_MS = 10;

/** The CPU time of all children of a process that have ended, and of theirs. */
async function endedChildrenMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * TICK_MS;
}

/** Processes that belong together: all that one of them starts ends as a child of one of them. */
export interface Family {
  /** The living ones, by pid; each has a name. */
  processes(): Promise<ReadonlyMap<number, string>>;
  /** What to call the children that have ended. */
  children: string;
}

/** CPU time in ms, by the name of the process. */
export type CpuUse = ReadonlyMap<string, number>;

interface Reading {
  at: number;
  own: Map<number, { name: string; ms: number }>;
  endedMs: number;
}

async function read(family: Family): Promise<Reading> {
  const own = new Map<number, { name: string; ms: number }>();
  let endedMs = 0;
  for (const [pid, name] of await family.processes()) {
    own.set(pid, { name, ms: await cpuMs(pid) });
    endedMs += await endedChildrenMs(pid);
  }
  return { at: performance.now(), own, endedMs };
}

const total = ({ own, endedMs }: Reading) => endedMs + sum([...own.values()].map(({ ms }) => ms));

/** Returns what a family used between two readings. A process that has ended in between counts as an ended child. */
function usedBetween(before: Reading, after: Reading, children: string): Map<string, number> {
  const used = new Map<string, number>();
  for (const [pid, { name, ms }] of after.own) add(used, name, ms - (before.own.get(pid)?.ms ?? 0));
  return add(used, children, total(after) - total(before) - sum(used.values()));
}

function add(to: Map<string, number>, name: string, ms: number): Map<string, number> {
  return to.set(name, (to.get(name) ?? 0) + ms);
}

/** Adds up what families of processes use while they work and while they rest. */
export function createCpuAccount<Name extends string>(families: ReadonlyMap<Name, readonly Family[]>) {
  const work = new Map<Name, { ms: number; used: CpuUse }[]>();
  const rest = new Map<Name, { ms: number; used: Map<string, number> }>();
  const readAll = async () => {
    const all = new Map<Name, Reading[]>();
    for (const [name, of] of families) all.set(name, await Promise.all(of.map(read)));
    return all;
  };
  let before = new Map<Name, Reading[]>();
  return {
    async begin(): Promise<void> {
      before = await readAll();
    },
    /** Adds what was used since `begin`: as work of this one, and as rest of all others. */
    async end(worker: Name): Promise<void> {
      const now = await readAll();
      for (const [name, of] of families) {
        const used = new Map<string, number>();
        let ms = 0;
        for (const [index, { children }] of of.entries()) {
          const [earlier, later] = [before.get(name)?.[index], now.get(name)?.[index]];
          if (earlier === undefined || later === undefined) continue;
          ms = later.at - earlier.at;
          for (const [process, cpu] of usedBetween(earlier, later, children)) add(used, process, cpu);
        }
        if (name === worker) work.set(name, [...(work.get(name) ?? []), { ms, used }]);
        else {
          const sofar = rest.get(name) ?? { ms: 0, used: new Map<string, number>() };
          for (const [process, cpu] of used) add(sofar.used, process, cpu);
          rest.set(name, { ms: sofar.ms + ms, used: sofar.used });
        }
      }
    },
    /** Returns what each piece of work used, beyond what the same processes use at rest in the same time. */
    ofWork(name: Name): CpuUse[] {
      const resting = rest.get(name);
      const perMs = (process: string) => (resting === undefined ? 0 : (resting.used.get(process) ?? 0) / resting.ms);
      return (work.get(name) ?? []).map(
        ({ ms, used }) => new Map([...used].map(([process, cpu]) => [process, cpu - perMs(process) * ms])),
      );
    },
    /** Returns what each process uses in a second at rest. */
    atRest(name: Name): CpuUse {
      const { ms, used } = rest.get(name) ?? { ms: 1, used: new Map<string, number>() };
      return new Map([...used].map(([process, cpu]) => [process, (cpu / ms) * 1_000]));
    },
  };
}

const CHECK_INTERVAL_MS = 60;
/** In a check of this length a process at rest uses at most this much, for its timers. */
const REST_MS = 4;
const PATIENCE_MS = 3_000;

/** Resolves once these families are at rest; after a while in any case. */
export async function whenIdle(families: readonly Family[]): Promise<void> {
  const used = async () => sum((await Promise.all(families.map(read))).map(total));
  const begun = performance.now();
  let before = await used();
  while (performance.now() - begun < PATIENCE_MS) {
    await sleep(CHECK_INTERVAL_MS);
    const now = await used();
    if (now - before < REST_MS) return;
    before = now;
  }
}
