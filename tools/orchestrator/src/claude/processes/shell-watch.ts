import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { createRounds } from '../launch/shared-poll.ts';
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
/** With more sessions at work than this, each is looked at less often: on any machine, what they start then takes longer as well. */
const LOOKS_AT_ONCE = 80;
const REST_MS = 1_000;
/** What a shell left is looked for in the table of all processes, this often at most. */
const TABLE_MS = 1_000;

const rounds = createRounds({ everyMs: LOOK_MS, restMs: REST_MS, most: LOOKS_AT_ONCE });

export function watchShells({ process, isActive, onLeft, known: before }: ShellWatchParts): ShellWatch {
  const shells = new Map<number, string>();
  const known = new Map(before.map((identity) => [`${identity.pid} ${identity.startTime}`, identity]));
  const gone = new Set<number>();
  let tableAt = performance.now();

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

  let looking: Promise<unknown> = Promise.resolve();
  let lookedAt = Number.NEGATIVE_INFINITY;
  let isLooking = false;

  /** In its turn; a look that waits for the table of processes is not begun again meanwhile. */
  function lookInTurn(): boolean {
    if (isLooking) return false;
    const isAtWork = isActive();
    if (!isAtWork && performance.now() - lookedAt < REST_MS - LOOK_MS) return false;
    lookedAt = performance.now();
    isLooking = true;
    looking = look().then((isThere) => {
      isLooking = false;
      if (!isThere) leave();
    });
    return isAtWork;
  }

  const leave = rounds.join(lookInTurn);
  lookInTurn();

  return {
    get known() {
      return [...known.values()];
    },
    shells,
    stir: rounds.hurry,
    async stop() {
      leave();
      await looking;
    },
  };
}
