import type { LaunchId, LeftProcess, StageId } from '@callboard/contract';
import { identify, type ProcessIdentity, selfIdentity } from '@callboard/runtime/process-identity';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { BackoffLimits } from '@callboard/runtime/waits';
import { createRetryTimer, createSharedPoll } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import {
  childrenOf,
  describeProcess,
  endMarked,
  findCommandProcesses,
  findMarkedProcesses,
  folderOf,
  outputsOf,
  type ProcessRow,
  readProcessTable,
  readRow,
  terminate,
} from '../../platform/process-table.ts';
import type { Logger } from '../../platform/runtime.ts';
import { requireStage, retryUntilStored, type Store } from '../../store/store.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';
import { changeSession } from '../session/change-session.ts';
import { addNotice } from '../session/session-change.ts';

/**
 * Processes that outlive their session: those that have dropped its marker, which only a person ends, and those that Callboard could not
 * end (another account's, or stuck in the kernel).
 */
export interface LeftoverProcesses {
  /** Returns the running ones of a stage, the oldest first. @throws Rejection `unknown_stage` */
  list(stageId: StageId): Promise<LeftProcess[]>;
  /**
   * Ends these by SIGTERM, and by SIGKILL after the grace period. Returns those that still run.
   * @throws Rejection `unknown_stage`; `unknown_process` if one of them is not listed, and then none is ended
   */
  end(stageId: StageId, pids: readonly number[], actor: string): Promise<LeftProcess[]>;
  /** Ends once more what has the marker of an ended launch of the stage. Returns what still runs. @throws Rejection `unknown_stage` */
  endMarkedOf(stageId: StageId): Promise<LeftProcess[]>;
}

export interface LeftoverDeps {
  store: Store;
  graceMs: number;
  /** As `Survivors.add`. */
  onSurvivors: (launchIds: readonly LaunchId[]) => void;
  /** Tests use another one. */
  end?: typeof endMarked;
}

export function createLeftoverProcesses(deps: LeftoverDeps): LeftoverProcesses {
  const { store, graceMs, onSurvivors, end = endMarked } = deps;

  async function find(stageId: StageId): Promise<ProcessRow[]> {
    await requireStage(store.read, stageId);
    return findOfStage(store, stageId);
  }

  return {
    list: async (stageId) => describe(await find(stageId)),
    async endMarkedOf(stageId) {
      const ended = (await store.read.launches.listOf(stageId)).filter(({ state }) => state === 'ended');
      const ids = ended.map(({ id }) => id);
      if (ids.length > 0 && !(await end(ids, graceMs))) onSurvivors(ids);
      return describe(await find(stageId));
    },
    async end(stageId, pids, actor) {
      const rows = await find(stageId);
      const unknown = pids.find((pid) => !rows.some((row) => row.pid === pid));
      if (unknown !== undefined) {
        const message = `Process ${unknown} is not on the list of what ${stageId} left running; it may have ended. Nothing was ended. Reload the list.`;
        throw new Rejection('unknown_process', message);
      }
      const { bootId } = await selfIdentity();
      const chosen = rows.filter(({ pid }) => pids.includes(pid));
      const ended = await Promise.all(
        chosen.map(({ pid, startTime }) => terminate({ pid, startTime, bootId }, graceMs)),
      );
      const left = await find(stageId);
      const count = ended.filter(Boolean).length;
      const text = `${actor} ended ${processes(count)} that outlived the session.`;
      await store.transact((tx) =>
        changeSession(tx, stageId, (change) => {
          change.record = { ...change.record, leftovers: left.length };
          if (count > 0) addNotice(change, tx.now, { level: 'info', code: 'leftovers-ended', text });
        }),
      );
      return describe(left);
    },
  };
}

/** Counts again what outlives the session of an ended launch, and says in its transcript what has ended. */
export async function recountLeftovers(store: Store, launchId: LaunchId): Promise<void> {
  const stageId = (await store.read.launches.find(launchId))?.stageId;
  if (stageId === undefined) return; // the stage was deleted meanwhile
  const left = (await findOfStage(store, stageId)).length;
  await store.transact(async (tx) => {
    const before = (await tx.sessions.find(stageId))?.leftovers ?? 0;
    if (before <= left) return;
    const text = `${processes(before - left)} that outlived the session ${before - left === 1 ? 'has' : 'have'} ended.`;
    await changeSession(tx, stageId, (change) => {
      change.record = { ...change.record, leftovers: left };
      addNotice(change, tx.now, { level: 'info', code: 'leftovers-ended', text });
    });
  });
}

const processes = (count: number) => (count === 1 ? '1 process' : `${count} processes`);

const COMMAND_SHOWN = 300;

async function describe(rows: readonly ProcessRow[]): Promise<LeftProcess[]> {
  const described = await Promise.all(
    rows.map(async (row) => {
      const reported = await describeProcess(row);
      if (reported === null) return null;
      const isLong = reported.command.length > COMMAND_SHOWN;
      const command = isLong ? `${reported.command.slice(0, COMMAND_SHOWN)}...` : reported.command;
      return { pid: row.pid, command, startedAt: reported.at.toISOString() };
    }),
  );
  return described.filter((one) => one !== null).toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
}

/** Returns the living processes that the stage's ended launches left behind, without those of launches that still run. */
async function findOfStage(store: Store, stageId: StageId): Promise<ProcessRow[]> {
  const launches = (await store.read.launches.listOf(stageId)).filter(({ state }) => state === 'ended');
  const marked = await findMarkedProcesses();
  const survivors = await Promise.all(launches.flatMap(({ id }) => (marked.get(id) ?? []).map((pid) => identify(pid))));
  const known = [...launches.flatMap(({ leftovers }) => leftovers), ...survivors.filter((one) => one !== null)];
  if (known.length === 0) return [];
  return findLeftovers({ known, shells: new Map(), conversationId: null, place: null, except: await ofOthers(store) });
}

async function ofOthers(store: Store): Promise<Set<number>> {
  const [marked, ofCommands, living] = await Promise.all([
    findMarkedProcesses(),
    findCommandProcesses(), // what the project runs in the worktree is not Claude's
    store.read.launches.listNotEnded(),
  ]);
  const own = living.flatMap(({ id, process }) => [...(marked.get(id) ?? []), ...(process ? [process.pid] : [])]);
  return new Set([...own, ...[...ofCommands.values()].flat()]);
}

export interface LeftoverWatchDeps {
  store: Store;
  log: Logger;
  executor: Pick<SessionExecutor, 'launch' | 'process' | 'lastHeard' | 'onHeard'>;
}

/** Follows a living launch beside its turns, so that the processes it leaves are known when it has ended. */
export interface LeftoverWatch {
  stop(): Promise<void>;
  /** Stores and reports what still runs. Call it when the process has ended, and everything with its marker was to end. */
  settle(conversationId: string | null, signal: AbortSignal): Promise<void>;
}

/** How long after its last output a process may still start something: in a turn, and after a turn. */
const ACTIVE_MS = 60_000;
const ACTIVE_AFTER_TURN_MS = 2_000;

export const mayStartSomething = ({ silentMs, isTurnOver }: ReturnType<SessionExecutor['lastHeard']>): boolean =>
  silentMs < (isTurnOver ? ACTIVE_AFTER_TURN_MS : ACTIVE_MS);

export function watchLeftovers({ store, log, executor }: LeftoverWatchDeps): LeftoverWatch {
  const { launch, process, lastHeard } = executor;
  const save = (known: readonly ProcessIdentity[]) =>
    store.transact((tx) => tx.launches.setLeftovers(launch.id, known), { sync: 'later', stage: launch.stageId });
  const watch = watchShells({
    process: process.identity,
    isActive: () => mayStartSomething(lastHeard()),
    known: launch.leftovers,
    onLeft: (known) => {
      // For a restart of Callboard; the end of the process stores it again.
      save(known).catch((error: unknown) => log.warn({ err: error }, 'storing processes left by a command failed'));
    },
  });
  const unlisten = executor.onHeard(watch.wake);
  const stop = () => {
    unlisten();
    return watch.stop();
  };
  return {
    stop,
    async settle(conversationId, signal) {
      await stop();
      const { shells } = watch;
      const survivors = (await findMarkedProcesses()).get(launch.id) ?? [];
      const identities = await Promise.all(survivors.map((pid) => identify(pid)));
      const known = [...watch.known, ...identities.filter((one) => one !== null)];
      const worktree = (await store.read.stages.find(launch.stageId))?.worktree?.path;
      const place = worktree === undefined ? null : { worktree, since: process.identity.startTime };
      const signs = { known, shells, conversationId, place };
      const found = await findLeftovers({ ...signs, except: await ofOthers(store) });
      if (found.length === 0 && known.length === 0) return;
      const left = found.map(({ pid, startTime }) => ({ pid, startTime, bootId: process.identity.bootId }));
      await retryUntilStored({ store, log, signal }, (tx) => tx.launches.setLeftovers(launch.id, left));
      if (found.length > 0) await report({ store, log, executor }, found, signal);
    },
  };
}

async function report(
  { store, log, executor }: LeftoverWatchDeps,
  found: readonly ProcessRow[],
  signal: AbortSignal,
): Promise<void> {
  const { id, stageId } = executor.launch;
  const all = await findOfStage(store, stageId);
  const text = `${processes(found.length)} that Claude's commands started still ${found.length === 1 ? 'runs' : 'run'} after the end of the session. You can end ${found.length === 1 ? 'it' : 'them'} on the stage page.`;
  await retryUntilStored({ store, log, signal }, (tx) =>
    changeSession(tx, stageId, (change) => {
      change.record = { ...change.record, leftovers: Math.max(all.length, found.length) };
      addNotice(change, tx.now, { level: 'warning', code: 'leftovers', text });
    }),
  );
  log.info({ launchId: id, pids: found.map(({ pid }) => pid) }, 'processes outlive their session');
}

/** How to recognise the processes of an ended launch, even those without its marker. */
export interface LaunchSigns {
  /** Processes seen during the launch, or when it ended. */
  known: readonly ProcessIdentity[];
  /** The last processes that `claude` started, with their start times: each Bash command leads its own Unix session. */
  shells: ReadonlyMap<number, string>;
  /** Bash commands print to files in a folder that is named after the conversation. */
  conversationId: string | null;
  /** The launch's worktree, and its start time. An orphan there whose Unix session has lost its first process counts as the launch's own. */
  place: { worktree: string; since: string } | null;
  /** Pids to exclude: those of launches that continue. */
  except: ReadonlySet<number>;
}

/** Finds the living processes of a launch, those in a Unix session with one of them, and everything they have started. */
export async function findLeftovers(signs: LaunchSigns): Promise<ProcessRow[]> {
  const [rows, self] = await Promise.all([readProcessTable(), selfIdentity()]);
  const ours = rows.find(({ pid }) => pid === self.pid)?.session;
  const candidates = rows.filter(({ pid, session }) => session > 1 && session !== ours && !signs.except.has(pid));
  const byPid = new Map(rows.map((row) => [row.pid, row]));
  const known = new Set(
    signs.known.filter(({ bootId }) => bootId === self.bootId).map(({ pid, startTime }) => `${pid} ${startTime}`),
  );
  const matches = async (row: ProcessRow) =>
    known.has(`${row.pid} ${row.startTime}`) ||
    isOfShell(row, byPid, signs.shells) ||
    (signs.conversationId !== null && (await printsFor(row.pid, signs.conversationId))) ||
    (signs.place !== null && (await isOrphanIn(row, byPid, signs.place)));
  const matched = await Promise.all(candidates.map(matches));
  return withRelated(
    candidates.filter((_, index) => matched[index]),
    candidates,
  );
}

/** A session is named after its first process; that pid may have been reused since. */
function isOfShell(
  { session }: ProcessRow,
  byPid: ReadonlyMap<number, ProcessRow>,
  shells: ReadonlyMap<number, string>,
): boolean {
  const started = shells.get(session);
  if (started === undefined) return false;
  const leader = byPid.get(session);
  return leader === undefined || leader.startTime === started;
}

async function printsFor(pid: number, conversationId: string): Promise<boolean> {
  return (await outputsOf(pid)).some((path) => path.includes(`/${conversationId}/tasks/`));
}

/**
 * For a process whose shell ended too quickly to be seen. A program that a person has open is in the session of its
 * terminal's shell, or leads a session itself.
 */
async function isOrphanIn(
  row: ProcessRow,
  byPid: ReadonlyMap<number, ProcessRow>,
  { worktree, since }: { worktree: string; since: string },
): Promise<boolean> {
  if (byPid.has(row.session) || Number(row.startTime) < Number(since)) return false;
  const folder = await folderOf(row.pid);
  return folder !== null && (folder === worktree || folder.startsWith(`${worktree}/`));
}

/** Adds children and members of the same Unix sessions until there are no more. */
function withRelated(seeds: readonly ProcessRow[], rows: readonly ProcessRow[]): ProcessRow[] {
  const found = new Set(seeds);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    const pids = new Set([...found].map(({ pid }) => pid));
    const sessions = new Set([...found].map(({ session }) => session));
    for (const row of rows) if (pids.has(row.parent) || sessions.has(row.session)) found.add(row);
  }
  return [...found];
}

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

/** Processes of ended launches that could not be ended, not even by SIGKILL: another account's, or stuck in the kernel. */
export interface Survivors {
  /** Tries to end what these launches left running, less and less often, until all of it is gone. */
  add(launchIds: readonly LaunchId[]): void;
  /** Tries no more. Resolves when no attempt is running. */
  stop(): Promise<void>;
}

export interface SurvivorsDeps {
  log: Logger;
  graceMs: number;
  /** Nothing of this launch runs any more. */
  onGone: (launchId: LaunchId) => Promise<void>;
  /** Tests use other ones. */
  end?: typeof endMarked;
  pauses?: BackoffLimits;
}

/** A hung file system is back in seconds or in hours. */
const PAUSES = { firstMs: 10_000, maxMs: 600_000 };

export function createSurvivors({ log, graceMs, onGone, end = endMarked, pauses = PAUSES }: SurvivorsDeps): Survivors {
  const left = new Set<LaunchId>();
  let isStopped = false;
  const worker = createReconciler(pass, (error) => log.error({ err: error }, 'ending surviving processes failed'));
  const again = createRetryTimer<LaunchId>(worker.schedule, pauses);

  async function pass(): Promise<void> {
    try {
      for (const launchId of left) {
        if (isStopped) return;
        if (!(await end([launchId], graceMs))) continue;
        await onGone(launchId); // if that is not stored, the next pass finds nothing left, and tries again
        left.delete(launchId);
        log.info({ launchId }, 'surviving processes have ended');
      }
    } finally {
      if (!isStopped) again.attempted(new Set(left));
    }
  }

  return {
    add(launchIds) {
      if (isStopped || launchIds.length === 0) return;
      for (const launchId of launchIds) left.add(launchId);
      log.warn({ launchIds }, 'processes survive SIGKILL, retrying');
      again.attempted(new Set(left));
    },
    stop() {
      isStopped = true;
      again.stop();
      return worker.stop();
    },
  };
}
