import { awaitsTasks, isPaused, type LaunchId, type StageId, type TextDelta } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { Rejection } from '../../lib/errors.ts';
import type { Logger } from '../../platform/runtime.ts';
import type { LaunchRecord, MessageRow, SessionRecord } from '../../store/records.ts';
import { requireStage, type Store, type Tables, type Tx } from '../../store/store.ts';
import { openSpoolOnly } from '../claude/channel.ts';
import type { AgentProcess } from '../claude/claude-process.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';
import { requireNoAwaitedTasks, wakeUpsToCome } from '../session/background-tasks.ts';
import { changeSession, continueReleased, openChange, type ResumeIn, saveChange } from '../session/change-session.ts';
import { acknowledgeDenial } from '../session/denials.ts';
import type { LaunchEnd } from '../session/end-launch.ts';
import { beginPhase, followPipeline, noteCheck } from '../session/pipeline.ts';
import { type Alarm, acknowledgeAlarm, raiseAlarm, requireNoAlarm } from '../session/requests.ts';
import { endedForTerminal, requireNotInTerminal } from '../session/rewind-rules.ts';
import { type SessionChange, setCliGaps } from '../session/session-change.ts';
import { endWaits, isStagePaused, releaseStage } from '../session/spending-limits.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Claims } from './begin-launch.ts';
import {
  ALARMED,
  createLaunchRegistry,
  createRunningLookup,
  type LaunchRegistry,
  type LaunchRegistryDeps,
  type RunningLookup,
  recoverLostOutput,
  reportsIdle,
  type SharedExecutorDeps,
} from './launch-registry.ts';
import { createLauncher, type Launcher, type SpawnDeps, type StartOptions } from './launcher.ts';
import { createProcessRequests, type ProcessRequests, type RunningLaunch } from './running-launch.ts';

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
      await launcher.settled();
      await Promise.all(registry.all().map((launch) => launch.detach()));
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

export interface DeferredWorkDeps extends ResumeIn {
  store: Store;
  log: Logger;
}

/**
 * Continues after a time in which nothing could be delivered or stored, or the stage was on hold: idle sessions get their next message
 * or phase, and rows that could not be marked are written again. A session that fails does not stop the others. What needs a new process
 * is left to the scheduler (`listDeferred`), so that not all of them are started at once.
 * @param isMeant which sessions; all if left out
 */
export async function resumeDeferredWork(
  deps: DeferredWorkDeps,
  isMeant: (record: SessionRecord) => boolean = () => true,
): Promise<void> {
  for (const record of await deps.store.read.sessions.list()) {
    const { stageId, launchId } = record;
    if (launchId === null || !isMeant(record)) continue;
    try {
      await resumeDeferred(deps, stageId);
    } catch (error) {
      deps.log.error({ err: error, stageId }, 'resuming the deferred work of a session failed');
    }
  }
}

/** Returns the stages without a process that go on as soon as there is room for one: released, or with a message that had to wait. */
export async function listDeferred(
  tables: Pick<Tables, 'sessions' | 'stages' | 'holds' | 'outbox'>,
): Promise<StageId[]> {
  const deferred: StageId[] = [];
  const pauses = await tables.holds.list();
  for (const record of (await tables.sessions.list()).filter(mayBeDeferred)) {
    const { stageId, withheld } = record;
    const stage = await tables.stages.find(stageId);
    if (stage === null || stage.completedAt !== null || isPaused(stage, pauses)) continue;
    if (withheld || (await awaitingRoom(tables, stageId)) !== undefined) deferred.push(stageId);
  }
  return deferred;
}

/** One that waits for the reset of a usage limit goes on with that. */
const mayBeDeferred = ({ launchId, queued, withheld, alarm, terminal, goingBack, limitWait }: SessionRecord): boolean =>
  launchId === null &&
  (withheld || queued > 0) &&
  alarm === null &&
  terminal === null &&
  goingBack === null &&
  limitWait?.goesOnAt == null;

/** Continues one session where it was, once; does nothing if there is nothing to go on with. @throws as `beginLaunch` */
export const resumeDeferred = (deps: Omit<DeferredWorkDeps, 'log'>, stageId: StageId): Promise<void> =>
  deps.store.transact((tx) => resumeOne(tx, stageId, deps));

async function resumeOne(tx: Tx, stageId: StageId, deps: Omit<DeferredWorkDeps, 'log'>): Promise<void> {
  const record: SessionRecord | null = await tx.sessions.find(stageId);
  if (record === null || record.alarm !== null || record.terminal !== null) return;
  if (record.launchId !== null) {
    await changeSession(tx, stageId, () => undefined); // saving delivers the next message
    return;
  }
  if ((await tx.stages.find(stageId))?.completedAt != null || (await isStagePaused(tx, stageId))) return;
  if (record.holdInterrupt === 'interrupted' && record.turnMessages.length > 0) {
    await changeSession(tx, stageId, endWaits);
    return deps.repeatIn(tx, stageId); // Claude lacks what it was told last
  }
  const row = record.withheld ? await releasedWork(tx, stageId) : await awaitingRoom(tx, stageId);
  if (row !== undefined) await deps.resumeWith(tx, stageId, row);
}

const awaitingRoom = async (tx: Pick<Tables, 'outbox'>, stageId: StageId): Promise<MessageRow | undefined> =>
  (await tx.outbox.queueOf(stageId)).find(({ body }) => body.awaitsRoom);

/** Makes due what a session without a process goes on with, and returns the message for its next one. */
async function releasedWork(tx: Tx, stageId: StageId): Promise<MessageRow | undefined> {
  const change: SessionChange = await openChange(tx, stageId);
  if (change.record.holdInterrupt === 'interrupted') await continueReleased(tx, change);
  else await followPipeline(tx, change); // does nothing while a message is queued
  const { queueHeld } = await saveChange(tx, change);
  const waiting = await awaitingRoom(tx, stageId);
  return waiting ?? (queueHeld ? undefined : (await tx.outbox.queueOf(stageId))[0]);
}
