import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessIdentity } from '../../lib/process-identity.ts';
import { childrenOf, readProcessTable, readRow } from './process-table.ts';

export interface ShellWatchParts {
  process: ProcessIdentity;
  /** Whether the process may start something soon. */
  isActive: () => boolean;
  /** What a shell has left running when it ended: all that was found so far, with it. */
  onLeft: (known: readonly ProcessIdentity[]) => void;
  /** Found before. */
  known: readonly ProcessIdentity[];
}

/** Follows what a living `claude` starts, and what outlives the shells that it ran. */
export interface ShellWatch {
  readonly known: readonly ProcessIdentity[];
  readonly shells: ReadonlyMap<number, string>;
  /** The process has something to do: it is looked at without a rest before. */
  stir(): void;
  /** Resolves when it looks no more. */
  stop(): Promise<void>;
}

/** A look reads one small file; a shell lives for longer than this, by what it reads at its start alone. */
const LOOK_MS = 50;
const REST_MS = 1_000;
/** What a shell left is looked for in the table of all processes, this often at most. */
const TABLE_MS = 1_000;

export function watchShells({ process, isActive, onLeft, known: before }: ShellWatchParts): ShellWatch {
  const stopping = new AbortController();
  const { signal } = stopping;
  const shells = new Map<number, string>();
  const known = new Map(before.map((identity) => [`${identity.pid} ${identity.startTime}`, identity]));
  const gone = new Set<number>();
  let tableAt = performance.now();
  let endRest: () => void = () => undefined;

  /** False when the process is gone. */
  async function look(): Promise<boolean> {
    const children = childrenOf(process.pid);
    if (children === null) return false;
    for (const pid of children) {
      if (shells.has(pid) && !gone.has(pid)) continue;
      const row = await readRow(pid);
      if (row !== null) shells.set(pid, row.startTime);
      gone.delete(pid);
    }
    for (const pid of shells.keys()) if (!children.includes(pid)) gone.add(pid);
    if (gone.size > 0 && performance.now() - tableAt >= TABLE_MS) await lookInTable();
    return true;
  }

  async function lookInTable(): Promise<void> {
    const ended = [...gone];
    const left = (await readProcessTable()).filter(({ session }) => ended.includes(session));
    tableAt = performance.now();
    for (const pid of ended) {
      gone.delete(pid);
      shells.delete(pid); // its pid may be used again once nothing of it is left
    }
    if (left.length === 0) return;
    for (const { pid, startTime } of left) known.set(`${pid} ${startTime}`, { pid, startTime, bootId: process.bootId });
    onLeft([...known.values()]);
  }

  async function watch(): Promise<void> {
    while (!signal.aborted && (await look())) {
      if (isActive()) await sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
      else await rest();
    }
  }

  /** All who rest look at the same time: each time that the process wakes up costs more than a look. */
  async function rest(): Promise<void> {
    const stirring = new AbortController();
    endRest = () => stirring.abort();
    const until = { signal: AbortSignal.any([signal, stirring.signal]), ref: false };
    await sleep(REST_MS - (performance.now() % REST_MS), undefined, until).catch(() => undefined);
    endRest = () => undefined;
  }

  const watched = watch();
  return {
    get known() {
      return [...known.values()];
    },
    shells,
    stir: () => endRest(),
    async stop() {
      stopping.abort();
      await watched;
    },
  };
}
