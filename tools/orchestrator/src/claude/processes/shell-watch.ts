import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { createSharedPoll } from '../launch/shared-poll.ts';
import { childrenOf, readProcessTable, readRow } from './process-table.ts';

export interface ShellWatchDeps {
  process: ProcessIdentity;
  /** Whether the process may start something soon. */
  isActive: () => boolean;
  /** Called when a shell has ended and left processes running, with all processes found so far. */
  onLeft: (known: readonly ProcessIdentity[]) => void;
  /** Processes found before. */
  known: readonly ProcessIdentity[];
}

/** Follows what a living `claude` starts, and what outlives the shells that it ran. */
export interface ShellWatch {
  readonly known: readonly ProcessIdentity[];
  /** The shells that run, or have just ended, by pid, with their start times. */
  readonly shells: ReadonlyMap<number, string>;
  /** The process has something to do: checks it without a rest. */
  wake(): void;
  /** Resolves once no check runs. */
  stop(): Promise<void>;
}

/** A check reads one small file. A shell lives longer than this: reading its startup files alone takes longer. */
const POLL_MS = 50;
/** With more busy sessions than this, each is checked less often; what they start then takes longer as well, on any machine. */
const MAX_CHECKS_PER_ROUND = 80;
const REST_MS = 1_000;
/** The table of all processes is searched for what a shell left at most this often. */
const TABLE_MS = 1_000;

const poll = createSharedPoll({ everyMs: POLL_MS, restMs: REST_MS, maxPerRound: MAX_CHECKS_PER_ROUND });

export function watchShells({ process, isActive, onLeft, known: before }: ShellWatchDeps): ShellWatch {
  const shells = new Map<number, string>();
  const known = new Map(before.map((identity) => [`${identity.pid} ${identity.startTime}`, identity]));
  const ended = new Set<number>();
  let tableAt = performance.now();

  /** Resolves with false if the process is gone. */
  async function check(): Promise<boolean> {
    const children = childrenOf(process.pid);
    if (children === null) return false;
    for (const pid of children) {
      if (shells.has(pid) && !ended.has(pid)) continue;
      const row = await readRow(pid);
      if (row !== null) shells.set(pid, row.startTime);
      ended.delete(pid);
    }
    for (const pid of shells.keys()) if (!children.includes(pid)) ended.add(pid);
    if (ended.size > 0 && performance.now() - tableAt >= TABLE_MS) await searchTable();
    return true;
  }

  async function searchTable(): Promise<void> {
    const leaders = [...ended];
    const left = (await readProcessTable()).filter(({ session }) => leaders.includes(session));
    tableAt = performance.now();
    for (const pid of leaders) {
      ended.delete(pid);
      shells.delete(pid); // its pid may be reused once nothing of it is left
    }
    if (left.length === 0) return;
    for (const { pid, startTime } of left) known.set(`${pid} ${startTime}`, { pid, startTime, bootId: process.bootId });
    onLeft([...known.values()]);
  }

  let checking: Promise<unknown> = Promise.resolve();
  let checkedAt = Number.NEGATIVE_INFINITY;
  let isChecking = false;

  /** Starts a check, unless one still waits for the table of processes, or an idle process was checked a moment ago. */
  function takeTurn(): boolean {
    if (isChecking) return false;
    const isBusy = isActive();
    if (!isBusy && performance.now() - checkedAt < REST_MS - POLL_MS) return false;
    checkedAt = performance.now();
    isChecking = true;
    checking = check().then((isThere) => {
      isChecking = false;
      if (!isThere) leave();
    });
    return isBusy;
  }

  const leave = poll.add(takeTurn);
  takeTurn();

  return {
    get known() {
      return [...known.values()];
    },
    shells,
    wake: poll.wake,
    async stop() {
      leave();
      await checking;
    },
  };
}
