import { awaitsTasks, isChecking, type LaunchId, type StageId, type TextDelta } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { Rejection } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import type { LaunchRecord, MessageRow } from '../../store/records.ts';
import { type RetryDeps, requireStage, retryUntilStored, type Store, type Tx } from '../../store/store.ts';
import { openSpoolOnly, type openStdioChannel } from '../claude/channel.ts';
import type { AgentProcess } from '../claude/claude-process.ts';
import { InitializedState } from '../claude/wire.ts';
import type { ExecutorDeps, SessionExecutor } from '../executor/session-executor.ts';
import { applyEvent } from '../session/apply-agent-event.ts';
import { requireNoAwaitedTasks, wakeUpsToCome } from '../session/background-tasks.ts';
import { changeSession, noSession, openChange, saveChange } from '../session/change-session.ts';
import type { LaunchEnd } from '../session/end-launch.ts';
import { beginPhase, noteCheck } from '../session/pipeline.ts';
import { type Alarm, acknowledgeAlarm, raiseAlarm, requireNoAlarm } from '../session/requests.ts';
import { endedForTerminal, requireNotInTerminal } from '../session/rewind-rules.ts';
import { addEntry, setCliGaps } from '../session/session-change.ts';
import { releaseStage } from '../session/spending-limits.ts';
import { acknowledgeDenial } from '../session/tool-calls.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Claims } from './begin-launch.ts';
import { createLauncher, type Launcher, type SpawnDeps, type StartOptions } from './launcher.ts';
import { cleanUpSandbox } from './prepare-launch.ts';
import {
  attachLaunch,
  createProcessRequests,
  type ProcessRequests,
  type RunningDeps,
  type RunningLaunch,
  type StopGraces,
} from './running-launch.ts';
import { listDeferred, resumeDeferred, resumeDeferredWork } from './scheduler.ts';

export interface SessionsDeps extends SharedExecutorDeps, Omit<SpawnDeps, 'storing' | 'attach'> {
  /** As `BeginDeps.claims`. */
  claims?: Claims | undefined;
  /** As `Survivors.add`. */
  onSurvivors?: LaunchRegistryDeps['onSurvivors'];
  /** Called when a process is attached again after a restart, and when the end of a launch is stored. For metrics. */
  onLaunchUpdate: (updates: 're-attached' | LaunchEnd['kind']) => void;
}

/** All sessions, and the processes of those that have one. */
export interface Sessions extends ProcessRequests {
  /**
   * Starts the stage's process, or resumes its session; for a person, also releases it. Resolves when the process is up, or when the
   * set-up of its worktree begins; a set-up that fails is then shown by the session.
   * @throws Rejection `unknown_stage`, `already_done`, `session_alarm`, `in_terminal`, `already_running`, `waits_for_dependency`, `claude_missing`, `worktree_failed`, `launch_failed`, `claude_too_old`, `disk_low`, `setup_failed`, `settings_invalid`, `settings_not_agreed`
   */
  start(stageId: StageId, actor: string | null, options?: StartOptions): Promise<void>;
  /**
   * Begins a launch in the caller's transaction, to work on `message`. The process is spawned after the commit; the
   * session shows the outcome. False: the disk is nearly full or the stage is on hold, so the message waits for `resumeDeferred`.
   */
  resumeWith(tx: Tx, stageId: StageId, message: MessageRow): Promise<boolean>;
  /** As `Launcher.repeatIn`. */
  repeatIn(tx: Tx, stageId: StageId): Promise<void>;
  /** As `Launcher.beginAgain`. Used after a restart. */
  beginAgain(launch: LaunchRecord): Promise<void>;
  /** Continues every session with a process when the disk has room or the store can write again. Does not reject if one session fails. */
  resumeDeferredWork(): Promise<void>;
  /** Returns the stages that go on once there is room for their processes: `resumeDeferred`. */
  listDeferred(): Promise<StageId[]>;
  /** Continues a session without a process where it was; does nothing if there is nothing to go on with. @throws as `start` */
  resumeDeferred(stageId: StageId): Promise<void>;
  /** As `resumeDeferredWork`, for stages that were released. */
  resumeReleased(stageIds: ReadonlySet<StageId>): Promise<void>;
  /** Recovers the lost output of running sessions as far as possible, and shows the gap. @param since when the disk was first seen full */
  recoverLostOutput(since: Date): Promise<void>;
  /** Asks a process for its open requests and whether it works, because some of its output may be lost. Never throws. */
  resync(stageId: StageId): void;
  /** Attaches to a living process: continues to read its output and to write its outbox. Used after a restart. */
  adopt(launchId: LaunchId, process: AgentProcess): Promise<Adopted>;
  /** Reads the rest of the output of an ended process, and settles its end. Used after a restart. */
  settle(launchId: LaunchId, identity: ProcessIdentity): Promise<void>;
  /** Puts a session under alarm for something that was detected outside its output, and stops it. @throws Rejection `no_session` */
  raiseAlarm(stageId: StageId, alarm: Alarm): Promise<void>;
  /** Acknowledges the alarm for a person, so that the session may continue. Ends a process that still runs first. @throws Rejection `no_session`, `no_alarm` */
  acknowledgeAlarm(stageId: StageId, actor: string): Promise<void>;
  /** Closes the denial of the last call for a person who took note of it. @throws Rejection `no_session`, `no_denial` */
  acknowledgeDenial(stageId: StageId, actor: string): Promise<void>;
  /**
   * Begins the next phase of a session at a gate; at the gate of a check that did not pass, a person accepts the work as it is.
   * @throws Rejection `no_session`, `session_alarm`, `in_terminal`, `not_at_gate`
   */
  advance(stageId: StageId, actor: string): Promise<void>;
  /** Ends the stage's process. @throws Rejection `no_session`, `not_running` */
  stop(stageId: StageId, reason: string): Promise<void>;
  /**
   * Ends the process of an idle session. If the session got work meanwhile, it goes on or is resumed. True: the process
   * has ended and nothing resumed it. @throws Rejection `no_session`, `not_running`
   */
  endIfIdle(stageId: StageId, reason: string): Promise<boolean>;
  /** Ends the process of an idle session to free its memory; does nothing if the session has work. */
  endIdle(stageId: StageId): Promise<void>;
  /** Reports which features this version of the program lacks, in the running sessions that use it. */
  reportGaps(version: string, gaps: readonly string[]): Promise<void>;
  /** Returns the text that the stage's process is writing, each block from its beginning. */
  liveText(stageId: StageId): TextDelta[];
  /** Returns the executors of all attached processes. */
  executors(): SessionExecutor[];
  /** Detaches from all processes, which live on. */
  detachAll(): Promise<void>;
}

/** An attached process. */
export interface Adopted {
  /** Repeats `initialize`: compares the open requests with the stored ones, and ends a turn whose end was lost. Never rejects. */
  check(): Promise<void>;
}

const IDLE_FOR_LONG = 'Ended after a long time without work, to free its memory. A message resumes it.';

/** How long launches that have begun may take when Callboard stops. */
const LAUNCHES_MS = 5_000;

export function createSessions(deps: SessionsDeps): Sessions {
  const { store, platform, log } = deps;
  const stopping = new AbortController();
  const storing = { store, log, signal: stopping.signal };
  const registry = createLaunchRegistry({ ...deps, storing, onVersion: deps.claude.saw, onEnd: deps.onLaunchUpdate });
  const launcher = createLauncher({ ...deps, storing, attach: registry.attach });
  const lookup = createRunningLookup({ store, registry, launcher });
  const requests = createProcessRequests({ ...deps, findRunning: lookup.find, requireRunning: lookup.require });
  const deferred = { store, log, resumeWith: launcher.launchIn, repeatIn: launcher.repeatIn };
  const idleDeps = { store, platform, launchIn: launcher.launchIn };

  async function endIdleSession(stageId: StageId, reason: string): Promise<boolean> {
    return endIfIdle(idleDeps, await lookup.require(stageId), reason);
  }

  return {
    ...requests,
    ...createAlarms(deps, registry, lookup),
    ...createRecovery(deps, registry, stopping.signal),
    start: launcher.start,
    resumeWith: launcher.launchIn,
    repeatIn: launcher.repeatIn,
    beginAgain: launcher.beginAgain,
    resumeDeferredWork() {
      for (const { executor } of registry.all()) executor.checkOutbox();
      return resumeDeferredWork(deferred);
    },
    listDeferred: () => listDeferred(store.read),
    resumeDeferred: (stageId) => resumeDeferred(deferred, stageId),
    resumeReleased: (stageIds) => resumeDeferredWork(deferred, ({ stageId }) => stageIds.has(stageId)),
    advance: (stageId, actor) => store.transact((tx) => advance(tx, launcher, { stageId, actor })),
    async stop(stageId, reason) {
      if (await deps.setUp.stop(stageId, reason)) return launcher.attached(stageId);
      await (await lookup.require(stageId)).stop(reason);
    },
    endIfIdle: endIdleSession,
    async endIdle(stageId) {
      const record = await store.read.sessions.find(stageId);
      if (record?.state !== 'idle' || record.backgroundTasks.length > 0 || registry.find(stageId) === undefined) return;
      if (wakeUpsToCome(record, platform.now().toISOString()).length > 0) return; // its process keeps them
      await endIdleSession(stageId, IDLE_FOR_LONG);
    },
    liveText: (stageId) => registry.find(stageId)?.executor.liveText() ?? [],
    executors: () => registry.all().map(({ executor }) => executor),
    async detachAll() {
      stopping.abort();
      const settled = launcher.settled();
      // One that waits for a reply which cannot be stored, because the store refuses this machine, ends with its detach.
      await settlesWithin(settled, LAUNCHES_MS);
      const attached = registry.all();
      await Promise.all(attached.map((launch) => launch.detach()));
      await settled;
      await Promise.all(registry.all().map((launch) => attached.includes(launch) || launch.detach()));
    },
  };
}

/** Alarms and denials, which people acknowledge, and gaps of the program. */
function createAlarms(
  { store }: SessionsDeps,
  registry: LaunchRegistry,
  lookup: RunningLookup,
): Pick<Sessions, 'raiseAlarm' | 'acknowledgeAlarm' | 'acknowledgeDenial' | 'reportGaps'> {
  return {
    async raiseAlarm(stageId, alarm) {
      const onAlarm = () => registry.stopAlarmed(stageId);
      await store.transact((tx) => changeSession(tx, stageId, (change) => raiseAlarm({ tx, change, onAlarm }, alarm)));
    },
    async acknowledgeAlarm(stageId, actor) {
      if ((await store.read.sessions.find(stageId))?.alarm != null) await (await lookup.find(stageId))?.stop(ALARMED);
      await store.transact((tx) => changeSession(tx, stageId, (change) => acknowledgeAlarm(change, tx.now, actor)));
    },
    async acknowledgeDenial(stageId, actor) {
      await store.transact((tx) => changeSession(tx, stageId, (change) => acknowledgeDenial(change, tx.now, actor)));
    },
    async reportGaps(version, gaps) {
      for (const { executor } of registry.all()) {
        if (registry.find(executor.launch.stageId) === undefined) continue; // it has ended meanwhile
        await store.transact(
          (tx) =>
            changeSession(tx, executor.launch.stageId, (change) => {
              if (change.record.cliVersion === version) setCliGaps(change, tx.now, { version, gaps });
            }),
          { sync: 'later' },
        );
      }
    },
  };
}

/** Recovers sessions after a restart of Callboard or lost output. */
function createRecovery(
  { store, platform, log, initializeTimeoutMs, onLaunchUpdate }: SessionsDeps,
  registry: LaunchRegistry,
  signal: AbortSignal,
): Pick<Sessions, 'adopt' | 'settle' | 'recoverLostOutput' | 'resync'> {
  const recoveryDeps = { store, platform, log, signal };

  async function check({ executor }: RunningLaunch): Promise<void> {
    if (signal.aborted) return;
    try {
      const reply = executor.request({ subtype: 'initialize' }, AbortSignal.timeout(initializeTimeoutMs));
      // Its output while nobody watched, perhaps on a full disk, may lack the end of its turn.
      if (reportsIdle(await reply)) await recoverLostOutput(executor, recoveryDeps, null);
    } catch (error) {
      log.warn({ err: error, launchId: executor.launch.id }, 'a re-attached process did not answer');
    }
  }

  return {
    async adopt(launchId, process) {
      const found = await store.read.launches.find(launchId);
      // Before it is attached: a failure is tried again, and two executors would both read its spool.
      const record = found && (await store.read.sessions.find(found.stageId));
      const launch = await registry.attach(launchId, process);
      onLaunchUpdate('re-attached');
      const { stageId } = launch.executor.launch;
      // Callboard ended before it had stopped the process.
      if (record?.alarm != null) registry.stopAlarmed(stageId);
      else if (record?.terminal != null) registry.stop(stageId, endedForTerminal(record.terminal));
      return { check: () => check(launch) };
    },
    async settle(launchId, identity) {
      const gone: AgentProcess = { identity, exited: async () => ({ known: false }) };
      await (await registry.attach(launchId, gone, openSpoolOnly)).ended;
    },
    async recoverLostOutput(since) {
      await Promise.all(registry.all().map(({ executor }) => recoverLostOutput(executor, recoveryDeps, since)));
    },
    resync: registry.resync,
  };
}

async function advance(
  tx: Tx,
  { launchIn }: Launcher,
  { stageId, actor }: { stageId: StageId; actor: string },
): Promise<void> {
  const change = await openChange(tx, stageId);
  requireNoAlarm(change.record);
  requireNotInTerminal(change.record);
  requireNoAwaitedTasks(change.record, 'The next phase was not started, because work of');
  await releaseStage(tx, stageId);
  const stage = await requireStage(tx, stageId);
  const finished = stage.pipeline[change.record.phaseIndex];
  const next = stage.pipeline[change.record.phaseIndex + 1];
  const { check } = change.record;
  const isChecked = check !== null && check.state !== 'passed';
  if (!change.record.atGate || finished === undefined || (next === undefined && !isChecked)) {
    throw new Rejection('not_at_gate', `${stageId} is not waiting to start a phase.`);
  }
  if (isChecked) noteCheck(tx, change, 'info', `${actor} accepted "${finished.name}" although its check did not pass.`);
  change.record = { ...change.record, atGate: false };
  if (next !== undefined) await beginPhase(tx, change, { stage, phase: next });
  await saveChange(tx, change);
  const [row] = change.record.launchId === null ? await tx.outbox.queueOf(stageId) : [];
  if (row !== undefined) await launchIn(tx, stageId, row);
}

export interface EndIfIdleDeps extends Pick<Launcher, 'launchIn'> {
  store: Store;
}

/** As `Sessions.endIfIdle`, for its running launch. */
async function endIfIdle({ store, launchIn }: EndIfIdleDeps, launch: RunningLaunch, reason: string): Promise<boolean> {
  const { stageId, id: launchId } = launch.executor.launch;
  /** The queue before the stop; null if the session is not idle. */
  const queued = await store.transact(async (tx) => {
    const record = await tx.sessions.find(stageId);
    if (record?.state !== 'idle' || record.launchId !== launchId || awaitsTasks(record)) return null;
    // Inserted in the transaction that sees the session idle, so that no turn can begin in between: later messages come
    // after this row, and return to the queue when the process ends.
    const row = { id: tx.newId(), stageId, launchId, wireId: tx.newWireId(), actor: null, createdAt: tx.now };
    await tx.outbox.insert({ ...row, body: { kind: 'control', request: { subtype: 'end_session' } } });
    // The caller, who waits for it below, gets the error.
    tx.afterCommit(() => void launch.stop(reason, true).catch(() => undefined));
    return new Set((await tx.outbox.queueOf(stageId)).map(({ id }) => id));
  });
  if (queued === null) return false;
  await launch.stop(reason);
  return store.transact(async (tx) => {
    const sent = (await tx.outbox.queueOf(stageId)).find(({ id }) => !queued.has(id));
    if (sent === undefined) return true;
    if ((await tx.sessions.find(stageId))?.launchId === null) await launchIn(tx, stageId, sent);
    return false;
  });
}

/**
 * Returns a function that tells what stands in the place of a stage's worktree, if a message would begin a turn there; null if the
 * worktree does. A message that joins a running turn changes nothing about where that works.
 */
export const createMisplacement =
  ({ store, worktrees }: { store: Pick<Store, 'read'>; worktrees: Pick<Worktrees, 'misplacement'> }) =>
  async (stageId: StageId): Promise<string | null> => {
    const [session, stage] = await Promise.all([store.read.sessions.find(stageId), store.read.stages.find(stageId)]);
    if (stage?.worktree == null || session?.turnBegun !== false) return null;
    const project = await store.read.projects.find(stage.projectId);
    return project === null ? null : worktrees.misplacement(project, stageId, stage.worktree);
  };

interface EndIfReplacedDeps {
  store: Pick<Store, 'read'>;
  worktrees: Pick<Worktrees, 'requireInPlace'>;
  sessions: { endIfIdle(stageId: StageId, reason: string): Promise<boolean> };
}

/**
 * Returns a function that ends an idle process whose worktree is not in its place: Claude Code runs commands by the path of its
 * folder, whatever stands there. The next message then starts a process, which is refused with the cause.
 */
export const createEndIfReplaced =
  ({ store, worktrees, sessions }: EndIfReplacedDeps) =>
  async (stageId: StageId): Promise<void> => {
    if ((await store.read.sessions.find(stageId))?.state !== 'idle') return;
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    if (stage?.worktree == null || project === null) return;
    try {
      worktrees.requireInPlace(project, stage.worktree);
    } catch {
      await sessions.endIfIdle(stageId, 'Ended because its worktree is not in its place.');
    }
  };

/** The dependencies that all executors of launches share; the registry handles the rest of their callbacks. */
export type SharedExecutorDeps = Omit<
  ExecutorDeps,
  'onAlarm' | 'onCutOff' | 'onMisplaced' | 'onUnreadable' | 'onVersion'
>;

export interface LaunchRegistryDeps extends SharedExecutorDeps {
  /** Its signal aborts when Callboard stops. */
  storing: RetryDeps;
  worktrees: Pick<Worktrees, 'clearSandbox'>;
  dataDir: string;
  /** The user's environment. */
  env: Record<string, string>;
  graces: StopGraces;
  /** As `Survivors.add`. */
  onSurvivors?: RunningDeps['onSurvivors'];
  /** As `ExecutorDeps.onVersion`. */
  onVersion: (version: string) => void;
  /** Called when the end of a launch is stored and settled. */
  onEnd: (how: LaunchEnd['kind']) => void;
}

/** All launches with an attached process, by stage. */
export interface LaunchRegistry {
  /** As `attachLaunch`; the launch stays in the registry until it has ended. */
  attach(launchId: LaunchId, process: AgentProcess, open?: typeof openStdioChannel): Promise<RunningLaunch>;
  find(stageId: StageId): RunningLaunch | undefined;
  all(): RunningLaunch[];
  /** Begins to stop the process of a session, if it has one. Never throws. */
  stop(stageId: StageId, reason: string): void;
  /** As `stop`, for a session under alarm. */
  stopAlarmed(stageId: StageId): void;
  /** As `Sessions.resync`. */
  resync(stageId: StageId): void;
}

/** Why a session under alarm is stopped. */
const ALARMED = 'Stopped by Callboard: the session has an open security alarm.';
const UNREADABLE =
  'Ended by Callboard because the output of Claude Code can no longer be read. A message resumes the session.';

function createLaunchRegistry(deps: LaunchRegistryDeps): LaunchRegistry {
  const { platform, log, storing } = deps;
  const running = new Map<StageId, RunningLaunch>();

  function forget({ id, stageId }: LaunchRecord): void {
    if (running.get(stageId)?.executor.launch.id === id) running.delete(stageId);
  }

  function stop(stageId: StageId, reason: string): void {
    running
      .get(stageId)
      ?.stop(reason)
      .catch((error: unknown) => log.error({ err: error, stageId }, 'stopping a session failed'));
  }

  function refuse(stageId: StageId, text: string): void {
    running
      .get(stageId)
      ?.refuse(text, 'worktree-replaced')
      .catch((error: unknown) => log.error({ err: error, stageId }, 'stopping a session failed'));
  }

  const stopAlarmed = (stageId: StageId): void => stop(stageId, ALARMED);

  function resync(stageId: StageId): void {
    const launch = running.get(stageId);
    if (launch !== undefined) void recoverLostOutput(launch.executor, { ...storing, platform }, null);
  }

  async function attach(
    launchId: LaunchId,
    process: AgentProcess,
    open?: typeof openStdioChannel,
  ): Promise<RunningLaunch> {
    const callbacks = {
      onVersion: deps.onVersion,
      onAlarm: stopAlarmed,
      onCutOff: resync,
      onMisplaced: refuse,
      onUnreadable: (stageId: StageId) => stop(stageId, UNREADABLE),
      // Whoever sees the end may act on it at once, while processes that the launch left behind are still being ended.
      onEnded: forget,
      onGone: (launch: LaunchRecord) => cleanUpSandbox(deps, launch),
    };
    const attached = await attachLaunch({ ...deps, ...callbacks }, launchId, process, open);
    const { launch } = attached.executor;
    running.set(launch.stageId, attached);
    attached.ended.then(
      (end) => end !== null && deps.onEnd(end.kind),
      () => forget(launch),
    );
    return attached;
  }

  return {
    attach,
    find: (stageId) => running.get(stageId),
    all: () => [...running.values()],
    stop,
    stopAlarmed,
    resync,
  };
}

/** Finds the running launch of a session. */
export interface RunningLookup {
  /**
   * Returns the running launch of a stage, after waiting for one that is being spawned; undefined if there is none.
   * @throws Rejection `not_running` for a process that is alive and could not be re-attached yet
   */
  find(stageId: StageId): Promise<RunningLaunch | undefined>;
  /** @throws Rejection `no_session`, `unknown_stage`, `in_terminal`, `not_running` */
  require(stageId: StageId): Promise<RunningLaunch>;
}

export interface RunningLookupDeps {
  store: Pick<Store, 'read'>;
  registry: Pick<LaunchRegistry, 'find'>;
  launcher: Pick<Launcher, 'attached'>;
}

function createRunningLookup({ store, registry, launcher }: RunningLookupDeps): RunningLookup {
  async function find(stageId: StageId): Promise<RunningLaunch | undefined> {
    await launcher.attached(stageId);
    const launch = registry.find(stageId);
    if (launch !== undefined || (await store.read.sessions.find(stageId))?.launchId == null) return launch;
    await launcher.attached(stageId); // a launch may have begun meanwhile
    const late = registry.find(stageId);
    if (late !== undefined) return late;
    const message = `Callboard could not re-attach to the process of ${stageId} yet; the process goes on, and the board says why. Retrying. Try again in a moment.`;
    throw new Rejection('not_running', message);
  }

  return {
    find,
    async require(stageId) {
      const launch = await find(stageId);
      if (launch !== undefined) return launch;
      const session = await store.read.sessions.find(stageId);
      if (session === null) throw await noSession(store.read, stageId);
      requireNotInTerminal(session);
      throw new Rejection('not_running', `${stageId} has no running process. Send a message to resume it.`);
    },
  };
}

const REPLY_MS = 10_000;

/**
 * The output of a process on a full disk is lost, and the process does not notice (seen with 2.1.330). Shows a gap in the
 * transcript, and asks the process for its open requests and whether it still works. Never rejects.
 *
 * @param since when the disk was first seen full; null if unknown, or if a line was cut off, which is visible anyway
 */
async function recoverLostOutput(
  executor: SessionExecutor,
  deps: RetryDeps & { platform: Platform },
  since: Date | null,
): Promise<void> {
  const { stageId, id: launchId } = executor.launch;
  const { store, log } = deps;
  try {
    const record = await store.read.sessions.find(stageId);
    if (record?.launchId !== launchId || record.state === 'idle' || isChecking(record)) return; // it printed nothing
    if (since !== null) {
      await retryUntilStored(deps, (tx) => changeSession(tx, stageId, (change) => addGap(change, tx.now, since)));
    }
    await executor.marked();
    const given = await store.read.outbox.listOf(launchId, ['written']);
    // Twice: a message that it just read may not have begun its turn at the first answer.
    if (!(await isIdleNow(executor)) || !(await isIdleNow(executor))) return;
    const messageIds = given.flatMap(({ kind, id }) => (kind === 'message' ? [id] : []));
    await retryUntilStored(deps, (tx) => endUnheardTurn(tx, executor, deps.platform, messageIds));
  } catch (error) {
    log.warn({ stageId, reason: messageOf(error) }, 'recovering lost output failed');
  }
}

/** Asks a process for its open requests, and whether it is at rest. */
async function isIdleNow(executor: SessionExecutor): Promise<boolean> {
  return reportsIdle(await executor.request({ subtype: 'initialize' }, AbortSignal.timeout(REPLY_MS)));
}

/** Whether the reply to an `initialize` says that the process has nothing to do. */
const reportsIdle = (reply: Record<string, unknown>): boolean =>
  InitializedState.parse(reply).response.session_state === 'idle';

function addGap(change: Parameters<typeof addEntry>[0], at: string, since: Date): void {
  const text =
    `The disk was full from ${since.toISOString()} on: what Claude Code printed until now may be missing here. ` +
    'Its work went on; look at the changes in the worktree. Requests that are open were asked for again.';
  addEntry(change, at, { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'output-lost', text });
}

/** The process is at rest and the end of its turn was lost: ends the turn as interrupted, so that a person looks. */
async function endUnheardTurn(
  tx: Tx,
  { launch: { stageId, id: launchId } }: SessionExecutor,
  platform: Platform,
  messageIds: readonly string[],
): Promise<void> {
  await changeSession(tx, stageId, async (change) => {
    if (change.record.launchId !== launchId) return;
    change.record = { ...change.record, reports: [] };
    if (!change.record.turnRunning) return;
    for (const id of messageIds) await tx.outbox.setConfirmed(id, tx.now);
    const message = 'The turn is over. How it ended was lost with the output that Claude Code could not write.';
    const end = { outcome: 'interrupted', message, durationMs: null, costUsd: null, tokens: null } as const;
    const nothing = {
      worktree: null,
      mayHooksAllow: true,
      sandbox: { isOn: false, autoAllows: false },
      mayPeersWrite: true,
      knowsAll: true,
      onAlarm: () => undefined,
    }; // not used by this event
    const context = { tx, change, launchId, platform, ...nothing };
    await applyEvent(context, { type: 'turn-ended', end });
  });
}
