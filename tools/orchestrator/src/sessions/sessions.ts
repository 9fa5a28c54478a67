import type { Effort, LaunchId, PermissionMode, StageId, TextDelta } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { refusedMode } from '../claude/launch/arguments.ts';
import { openSpoolOnly, type openStdioChannel } from '../claude/launch/channel.ts';
import type { AgentProcess } from '../claude/launch/spawn-claude.ts';
import { changeSession, noSession, openChange, saveChange } from '../domain/change-session.ts';
import { setCliGaps } from '../domain/cli-gaps.ts';
import { acknowledgeDenial } from '../domain/denials.ts';
import { beginPhase } from '../domain/pipeline.ts';
import { type Alarm, acknowledgeAlarm, raiseAlarm, requireNoAlarm } from '../domain/session-alarm.ts';
import { ProtocolError, Rejection } from '../lib/errors.ts';
import type { LaunchRecord, MessageRow } from '../store/records.ts';
import { requireStage } from '../store/require.ts';
import { isStorageFailure } from '../store/storage-failure.ts';
import type { Tx } from '../store/store.ts';
import type { Trust } from '../trust/trust.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { ExecutorParts, SessionExecutor } from './executor/session-executor.ts';
import { keepModel } from './keep-model.ts';
import { attachLaunch } from './launch/attach-launch.ts';
import { clearSandbox } from './launch/clear-sandbox.ts';
import { createLauncher, type LaunchPrograms, type LaunchSandboxes } from './launch/launcher.ts';
import type { RunningLaunch, StopGraces } from './launch/running-launch.ts';
import { recoverLostOutput, saysItRests } from './recover-lost-output.ts';
import { resumeDeferredWork } from './resume-deferred-work.ts';

export interface SessionsParts extends Omit<ExecutorParts, 'onAlarm' | 'onCutOff' | 'onUnreadable' | 'onVersion'> {
  worktrees: Worktrees;
  trust: Pick<Trust, 'forLaunch'>;
  dataDir: string;
  /** Looked at for every launch, since another one may have been installed meanwhile. */
  claude: LaunchPrograms;
  sandbox: LaunchSandboxes;
  /** The user's environment. */
  env: Record<string, string>;
  graces: StopGraces;
  initializeTimeoutMs: number;
}

/** What the CLI is asked to do or to tell. */
export interface ControlRequest {
  subtype: string;
  [field: string]: unknown;
}

/** All sessions with a process, by stage. */
export interface Sessions {
  /**
   * Starts the stage's process, or starts it again where its session left off. Resolves when it is up.
   * @throws Rejection `unknown_stage`, `already_done`, `session_alarm`, `already_running`, `waits_for_dependency`, `claude_missing`, `worktree_failed`, `launch_failed`, `claude_too_old`, `disk_low`
   */
  start(stageId: StageId, actor: string | null): Promise<void>;
  /**
   * Begins a launch in the caller's transaction, to work on `message`. The process is spawned after the commit; how
   * that went shows in the session. False: the disk is nearly full, so the message waits, and `goOn` resumes the session.
   */
  resumeWith(tx: Tx, stageId: StageId, message: MessageRow): Promise<boolean>;
  /** As `Launcher.beginAgain`. For the time after a restart. */
  beginAgain(launch: LaunchRecord): Promise<void>;
  /** There is room again, or the store can write again: every session gets what waited for that. Rejects with no error of one session. */
  goOn(): Promise<void>;
  /** The disk was full since then, and is not any more: what was lost of running sessions is made good as far as it can be, and shown. */
  makeGood(since: Date): Promise<void>;
  /** Asks a session anew what it waits for, and whether it works: what it printed may not have reached us. Never throws. */
  askAnew(stageId: StageId): void;
  /** Takes up a process that lives: what it printed is read on, what is for it is written. For the time after a restart. */
  adopt(launchId: LaunchId, process: AgentProcess): Promise<Adopted>;
  /** Takes in what a process that is gone had printed, and settles its end. For the time after a restart. */
  settle(launchId: LaunchId, identity: ProcessIdentity): Promise<void>;
  /**
   * Ends the running turn. A process that does not confirm in time is ended; its session can be resumed.
   * @param reason in words, for what waited for an answer in it
   * @throws Rejection `no_session`, `not_running` also where the process turns out to be dead; OperationalError `storage_failed`, and then nothing was done
   */
  interrupt(stageId: StageId, reason?: string): Promise<void>;
  /** @throws Rejection `no_session`, `refused_by_claude`, `no_confirmation` */
  setMode(stageId: StageId, mode: PermissionMode): Promise<void>;
  /** Changes the model (null: the default one), the effort, or both. @throws as `setMode` */
  setModel(stageId: StageId, change: { model?: string | null | undefined; effort?: Effort | undefined }): Promise<void>;
  /**
   * The reply of the stage's process to a control request.
   * @throws Rejection `no_session`, `not_running`, `no_confirmation`; ProtocolError `refused` with the CLI's words
   */
  ask(stageId: StageId, request: ControlRequest, limitMs?: number): Promise<Record<string, unknown>>;
  /** Puts a session under alarm for something that was seen outside of what its process prints, and stops it. @throws Rejection `no_session` */
  raiseAlarm(stageId: StageId, alarm: Alarm): Promise<void>;
  /** A person has looked: the session may go on. What is left of its process is ended first. @throws Rejection `no_session`, `no_alarm` */
  acknowledgeAlarm(stageId: StageId, actor: string): Promise<void>;
  /** A person has seen that Claude Code denied the last call. @throws Rejection `no_session`, `no_denial` */
  acknowledgeDenial(stageId: StageId, actor: string): Promise<void>;
  /** Lets the next phase begin. @throws Rejection `no_session`, `session_alarm`, `not_at_gate` */
  advance(stageId: StageId): Promise<void>;
  /** Ends the stage's process, if it has one. @throws Rejection `no_session`, `not_running` */
  stop(stageId: StageId, reason: string): Promise<void>;
  /**
   * Ends the session's process if it is idle. One that has found work by then goes on, or is resumed for it. True when
   * it has ended and stays so. @throws Rejection `no_session`, `not_running`
   */
  endIfIdle(stageId: StageId, reason: string): Promise<boolean>;
  /** Ends the process of a session that is idle, to free its memory; does nothing if it has found work meanwhile. */
  endIdle(stageId: StageId): Promise<void>;
  /** What the program of this version does not do was found out while sessions run with it: they tell it. */
  tellGaps(version: string, gaps: readonly string[]): Promise<void>;
  /** What the stage's process is writing just now, each block from its beginning. */
  liveText(stageId: StageId): TextDelta[];
  /** The executors of all living processes. */
  executors(): SessionExecutor[];
  /** Lets go of all processes, which live on. */
  detachAll(): Promise<void>;
}

/** A process that was taken up again. */
export interface Adopted {
  /** Repeats `initialize`: the open requests that it lists are compared with ours, and a turn whose end was lost is ended. Never rejects. */
  check(): Promise<void>;
}

const CONFIRMATION_MS = 10_000;
const ALARMED = 'Stopped by Callboard: the session is under alarm.';

export function createSessions(parts: SessionsParts): Sessions {
  const { store, edges, log, initializeTimeoutMs, graces, outboxBell } = parts;
  const running = new Map<StageId, RunningLaunch>();
  const letting = new AbortController();
  const storing = { store, log, signal: letting.signal };
  const { start, launchIn, beginAgain, takenUp, settled } = createLauncher({ ...parts, storing, attach });

  function forget({ id, stageId }: LaunchRecord): void {
    if (running.get(stageId)?.executor.launch.id === id) running.delete(stageId);
  }

  const onAlarm = (stageId: StageId): void => stopBecause(stageId, ALARMED);

  function stopBecause(stageId: StageId, reason: string): void {
    running
      .get(stageId)
      ?.stop(reason)
      .catch((error: unknown) => log.error({ err: error, stageId }, 'stopping failed'));
  }

  const onUnreadable = (stageId: StageId): void =>
    stopBecause(
      stageId,
      'Ended by Callboard, since what Claude Code prints can no longer be read. A message resumes the session.',
    );

  function askAnew(stageId: StageId): void {
    const session = running.get(stageId);
    if (session !== undefined) void recoverLostOutput(session.executor, { ...storing, edges }, null);
  }

  async function attach(
    launchId: LaunchId,
    process: AgentProcess,
    open?: typeof openStdioChannel,
  ): Promise<RunningLaunch> {
    // Who sees that it has ended may act on that at once, while what it has left behind is being ended yet.
    const ends = {
      onEnded: forget,
      onGone: (launch: LaunchRecord) => clearSandbox(parts, launch),
    };
    const callbacks = { onVersion: parts.claude.saw, onAlarm, onCutOff: askAnew, onUnreadable, ...ends };
    const session = await attachLaunch({ ...parts, ...callbacks }, launchId, process, open);
    const { launch } = session.executor;
    running.set(launch.stageId, session);
    session.ended.catch(() => forget(launch));
    return session;
  }

  async function checkAdopted(executor: SessionExecutor): Promise<void> {
    if (letting.signal.aborted) return;
    try {
      const asked = executor.request({ subtype: 'initialize' }, AbortSignal.timeout(initializeTimeoutMs));
      // What it printed while nobody watched, on a full disk perhaps, may lack the end of its turn.
      if (saysItRests(await asked)) await recoverLostOutput(executor, { ...storing, edges }, null);
    } catch (error) {
      log.warn({ err: error, launchId: executor.launch.id }, 'a re-attached process did not answer');
    }
  }

  /**
   * The session with its process, also where that is about to be spawned; undefined where there is none.
   * @throws Rejection `not_running` for a process that lives and could not be taken up again yet
   */
  async function runningOf(stageId: StageId): Promise<RunningLaunch | undefined> {
    await takenUp(stageId);
    const session = running.get(stageId);
    if (session !== undefined || (await store.read.sessions.find(stageId))?.launchId == null) return session;
    await takenUp(stageId); // which may have begun meanwhile
    if (running.has(stageId)) return running.get(stageId);
    const message = `The process of ${stageId} goes on, and Callboard could not take it up again yet; the board says why. It is being tried: try again in a moment.`;
    throw new Rejection('not_running', message);
  }

  async function requireRunning(stageId: StageId): Promise<RunningLaunch> {
    const session = await runningOf(stageId);
    if (session !== undefined) return session;
    if ((await store.read.sessions.find(stageId)) === null) throw await noSession(store.read, stageId);
    throw new Rejection('not_running', `${stageId} has no running process. Send a message to resume it.`);
  }

  async function endIfIdle(stageId: StageId, reason: string): Promise<boolean> {
    const session = await requireRunning(stageId);
    const { id: launchId } = session.executor.launch;
    /** What waited before; null where the session is not idle. */
    const waited = await store.transact(async (tx) => {
      const record = await tx.sessions.find(stageId);
      if (record?.state !== 'idle' || record.launchId !== launchId) return null;
      // In the transaction that sees that it is idle, so that no turn begins in between: what is sent from here on
      // stands behind this, and goes back into the queue with the end of the process.
      const row = { id: edges.newId(), stageId, launchId, wireId: edges.newWireId(), actor: null, createdAt: tx.now };
      await tx.outbox.insert({ ...row, body: { kind: 'control', request: { subtype: 'end_session' } } });
      tx.afterCommit(() => {
        session.stop(reason, true).catch(() => undefined); // whoever waits for it below is told
        outboxBell.ring(stageId);
      });
      return new Set((await tx.outbox.queueOf(stageId)).map(({ id }) => id));
    });
    if (waited === null) return false;
    await session.stop(reason);
    return store.transact(async (tx) => {
      const sent = (await tx.outbox.queueOf(stageId)).find(({ id }) => !waited.has(id));
      if (sent === undefined) return true;
      if ((await tx.sessions.find(stageId))?.launchId === null) await launchIn(tx, stageId, sent);
      return false;
    });
  }

  async function ask(
    { executor }: RunningLaunch,
    request: ControlRequest,
    limitMs = CONFIRMATION_MS,
  ): Promise<Record<string, unknown>> {
    try {
      return await executor.request(request, AbortSignal.timeout(limitMs));
    } catch (error) {
      if (error instanceof ProtocolError || isStorageFailure(error)) throw error;
      const message =
        'Claude Code did not confirm in time; whether it will follow is not known. Look at the session before trying again.';
      throw new Rejection('no_confirmation', message, { cause: error });
    }
  }

  async function confirmed(session: RunningLaunch, request: ControlRequest): Promise<void> {
    try {
      await ask(session, request);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new Rejection('refused_by_claude', `Claude Code refused: ${error.message}`, { cause: error });
    }
    await store.sync(); // what the CLI confirmed, before the person hears of it
  }

  return {
    start,
    resumeWith: launchIn,
    beginAgain,
    goOn: () => resumeDeferredWork({ store, log, outboxBell, resumeWith: launchIn }),
    async makeGood(since) {
      const sessions = [...running.values()];
      await Promise.all(sessions.map(({ executor }) => recoverLostOutput(executor, { ...storing, edges }, since)));
    },
    askAnew,
    async adopt(launchId, process) {
      const { executor } = await attach(launchId, process);
      const { stageId } = executor.launch;
      // Callboard was ended before it had stopped it.
      if ((await store.read.sessions.find(stageId))?.alarm != null) onAlarm(stageId);
      return { check: () => checkAdopted(executor) };
    },
    async settle(launchId, identity) {
      const gone: AgentProcess = { identity, exited: async () => ({ known: false }) };
      await (await attach(launchId, gone, openSpoolOnly)).ended;
    },
    async interrupt(stageId, reason) {
      const session = await requireRunning(stageId);
      try {
        await session.executor.request(
          { subtype: 'interrupt', cancel_queued: true },
          AbortSignal.timeout(graces.interruptMs),
          reason,
        );
      } catch (error) {
        if (isStorageFailure(error)) throw error; // it was not asked, so it cannot be blamed
        log.warn({ err: error, stageId }, 'an interrupt was not confirmed; the process is ended');
        await session.stop(
          'Claude Code did not react to the interrupt, so its process was ended. A message resumes the session.',
        );
        const end = await session.ended;
        if (end?.kind !== 'died') return;
        const message = `There was nothing left to interrupt: ${end.reason} The turn is over. A message resumes the session.`;
        throw new Rejection('not_running', message, { cause: error });
      }
    },
    async setMode(stageId, mode) {
      const session = await runningOf(stageId);
      if (session !== undefined) return confirmed(session, { subtype: 'set_permission_mode', mode });
      const refusal = refusedMode(mode, { uid: process.getuid?.(), env: parts.env });
      await store.transact((tx) =>
        changeSession(tx, stageId, (change) => {
          if (refusal !== null) throw new Rejection('refused_by_claude', `Claude Code refused: ${refusal}.`);
          change.record = { ...change.record, mode }; // the next launch is given it
        }),
      );
    },
    async setModel(stageId, { model, effort }) {
      const session = await runningOf(stageId);
      if (session !== undefined && model !== undefined) await confirmed(session, { subtype: 'set_model', model });
      if (session !== undefined && effort !== undefined) {
        await confirmed(session, { subtype: 'apply_flag_settings', settings: { effortLevel: effort } });
      }
      await store.transact((tx) => keepModel(tx, stageId, model, effort));
    },
    ask: async (stageId, request, limitMs) => ask(await requireRunning(stageId), request, limitMs),
    async raiseAlarm(stageId, alarm) {
      await store.transact((tx) =>
        changeSession(tx, stageId, (change) => raiseAlarm({ tx, change, onAlarm: () => onAlarm(stageId) }, alarm)),
      );
    },
    async acknowledgeAlarm(stageId, actor) {
      if ((await store.read.sessions.find(stageId))?.alarm != null) await (await runningOf(stageId))?.stop(ALARMED);
      await store.transact((tx) => changeSession(tx, stageId, (change) => acknowledgeAlarm(change, tx.now, actor)));
    },
    async acknowledgeDenial(stageId, actor) {
      await store.transact((tx) => changeSession(tx, stageId, (change) => acknowledgeDenial(change, tx.now, actor)));
    },
    async advance(stageId) {
      await store.transact(async (tx) => {
        const change = await openChange(tx, stageId);
        requireNoAlarm(change.record);
        const next = (await requireStage(tx, stageId)).pipeline[change.record.phaseIndex + 1];
        if (!change.record.atGate || next === undefined) {
          throw new Rejection('not_at_gate', `${stageId} does not wait at a gate, so there is nothing to let go on.`);
        }
        await beginPhase(tx, change, next);
        await saveChange(tx, change);
        const [row] = change.record.launchId === null ? await tx.outbox.queueOf(stageId) : [];
        if (row === undefined) tx.afterCommit(() => outboxBell.ring(stageId));
        else await launchIn(tx, stageId, row);
      });
    },
    async stop(stageId, reason) {
      await (await requireRunning(stageId)).stop(reason);
    },
    endIfIdle,
    async endIdle(stageId) {
      const record = await store.read.sessions.find(stageId);
      if (record?.state !== 'idle' || record.backgroundTasks.length > 0 || !running.has(stageId)) return;
      await endIfIdle(stageId, 'Ended after a long time without work, to free its memory. A message resumes it.');
    },
    async tellGaps(version, gaps) {
      for (const stageId of running.keys()) {
        await store.transact(
          (tx) =>
            changeSession(tx, stageId, (change) => {
              if (change.record.cliVersion === version) setCliGaps(change, tx.now, { version, gaps });
            }),
          { sync: 'later' },
        );
      }
    },
    liveText: (stageId) => running.get(stageId)?.executor.liveText() ?? [],
    executors: () => [...running.values()].map(({ executor }) => executor),
    async detachAll() {
      letting.abort();
      await settled();
      await Promise.all([...running.values()].map((session) => session.detach()));
    },
  };
}
