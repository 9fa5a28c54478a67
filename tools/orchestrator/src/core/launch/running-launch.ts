import { readFile, rm } from 'node:fs/promises';
import type { Effort, LaunchId, PermissionMode, StageId, TurnOutcome } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { isAlive } from '@callboard/runtime/process-identity';
import { AppError, ProtocolError, Rejection } from '../../lib/errors.ts';
import { endMarked, isGoneWithin, terminate } from '../../platform/process-table.ts';
import type { Logger } from '../../platform/runtime.ts';
import type { LaunchRecord, SessionRecord } from '../../store/records.ts';
import { isStorageFailure } from '../../store/storage-error.ts';
import { requireStage, retryUntilStored, retryWhileStoreFails, type Store, type Tx } from '../../store/store.ts';
import { type Channel, openSpoolOnly, openStdioChannel } from '../claude/channel.ts';
import { type AgentProcess, launchFiles, type ProcessExit } from '../claude/claude-process.ts';
import {
  conversationBytes,
  conversationTail,
  hooksInConversation,
  mcpText,
  messagesInConversation,
} from '../claude/conversation-file.ts';
import { mayUserHooksAllow, refusedMode } from '../claude/launch-options.ts';
import type { ExecutorDeps, SessionExecutor } from '../executor/session-executor.ts';
import { createSessionExecutor } from '../executor/session-executor.ts';
import { neededHosts } from '../permissions/needed-hosts.ts';
import { changeSession, rememberRecord } from '../session/change-session.ts';
import { endLaunch, type LaunchEnd } from '../session/end-launch.ts';
import { type FoundMessages, unconfirmedMessages } from '../session/message-delivery.ts';
import { watchLeftovers } from './leftover-processes.ts';

export interface RunningDeps {
  store: Store;
  log: Logger;
  graces: StopGraces;
  /** False for a process that had ended before Callboard attached to it. */
  wasWatched: boolean;
  /** Whether the machine was restarted since the process ran. */
  isOfEarlierBoot: boolean;
  /** Returns which of these messages a conversation has; null if it is missing. Called after the last process that writes it has ended. */
  findMessages: (conversationId: string, messageIds: readonly string[]) => Promise<FoundMessages>;
  /** Returns the size of a conversation's record; null if it is missing. Called at the same time. */
  sizeOfConversation: (conversationId: string) => Promise<number | null>;
  /** Called when the end is stored. Processes that the launch left behind may still run. */
  onEnded: () => void;
  /** As `Survivors.add`. */
  onSurvivors?: ((launchIds: readonly LaunchId[]) => void) | undefined;
  /** Called when neither the process nor any process with its marker is alive. A failure is only logged. */
  onGone: () => Promise<void>;
}

/** A launch from its attachment until its process has ended and everything is settled. */
export interface RunningLaunch {
  readonly executor: SessionExecutor;
  /**
   * Ends the process: interrupt, `end_session`, SIGTERM, SIGKILL. Resolves when it is gone and settled. Calling it again
   * returns the same promise; after a failure it tries again. `ended` tells whether the stop ended it, or something else did first.
   * @param isAsked an `end_session` is in the outbox already, for a process that is idle
   */
  stop(reason: string, isAsked?: boolean): Promise<void>;
  /** As `stop`, for a process that must not go on until a person does something about the cause. */
  refuse(reason: string, code: NonNullable<TurnOutcome['code']>): Promise<void>;
  /** Detaches from the process, which lives on. */
  detach(): Promise<void>;
  /** Resolves with why the launch ended, once that is stored; with null after a detach. */
  readonly ended: Promise<LaunchEnd | null>;
}

export function watchLaunch(executor: SessionExecutor, deps: RunningDeps): RunningLaunch {
  const { store, log, graces } = deps;
  const { launch, process } = executor;
  const watching = new AbortController();
  const leftovers = watchLeftovers({ store, log, executor });
  const stopper = createLaunchStopper({ executor, store, log, graces });
  let refusal: TurnOutcome['code'] = null;

  async function watch(): Promise<LaunchEnd | null> {
    const exit = await process.exited(watching.signal);
    if (watching.signal.aborted) return null;
    await executor.finish();
    if (watching.signal.aborted) return null; // not all output is stored: the next start settles the launch
    // A shared store may be out of reach for a while, and nobody else settles the end.
    const { record, end, found, bytes } = await retryWhileStoreFails({ log, signal: watching.signal }, async () => {
      const record = await store.read.sessions.find(launch.stageId);
      const end = await launchEnd(exit, record, executor, { parts: deps, stopper, refusal });
      const bytes =
        record?.sessionId == null ? null : await deps.sizeOfConversation(record.sessionId).catch(() => null);
      return { record, end, found: await findInConversation(deps, record, launch), bytes };
    });
    const settle = async (tx: Tx) => {
      await endLaunch(tx, launch, end, found);
      const sessionId = record?.sessionId ?? null;
      if (sessionId !== null && bytes !== null) await rememberRecord(tx, launch.stageId, { sessionId, bytes });
      tx.afterCommit(deps.onEnded);
    };
    // The end and everything that was read from the spool must be on disk before the spool is deleted.
    await retryUntilStored({ store, log, signal: watching.signal }, settle, { sync: 'now' });
    if (!(await endMarked([launch.id], graces.signalMs))) deps.onSurvivors?.([launch.id]);
    await leftovers.settle(record?.sessionId ?? null, watching.signal);
    await deps
      .onGone()
      .catch((error: unknown) => log.warn({ err: error, stageId: launch.stageId }, 'cleaning up the sandbox failed'));
    await rm(launch.folder, { recursive: true, force: true });
    return end;
  }

  const ended = watch().catch((error: unknown) => {
    if (watching.signal.aborted) return null;
    throw error;
  });
  ended.catch((error: unknown) =>
    log.error({ err: error, stageId: launch.stageId }, 'settling an ended process failed'),
  );

  return {
    executor,
    ended,
    stop: (reason, isAsked = false) => stopper.stop(reason, isAsked, ended),
    refuse(reason, code) {
      refusal = code;
      return stopper.stop(reason, false, ended);
    },
    async detach() {
      watching.abort();
      await leftovers.stop();
      await executor.detach();
    },
  };
}

async function launchEnd(
  exit: ProcessExit,
  record: SessionRecord | null,
  { launch }: SessionExecutor,
  { parts, stopper, refusal }: { parts: RunningDeps; stopper: LaunchStopper; refusal: TurnOutcome['code'] },
): Promise<LaunchEnd> {
  const reason = await exitReason(exit, launch.folder, parts.isOfEarlierBoot);
  const stopReason = stopper.reasonIfStopped(exit);
  if (stopReason !== null) {
    const isKilled = !exit.known || exit.signal === 'SIGKILL';
    return {
      kind: 'stopped',
      reason: stopReason,
      ...(refusal !== null && { code: refusal }),
      ...(isKilled && { isKilled }),
    };
  }
  if (record?.launchState === 'starting') return { kind: 'not-started', reason };
  return { kind: 'died', reason, wasWatched: parts.wasWatched };
}

/** If the conversation cannot be read, its messages are sent again, and the CLI drops those that it knows. */
async function findInConversation(
  { store, log, findMessages }: RunningDeps,
  record: SessionRecord | null,
  launch: LaunchRecord,
): Promise<FoundMessages> {
  if (record?.sessionId == null) return null;
  const unconfirmed = await unconfirmedMessages(store.read, record, launch.id);
  const ids = unconfirmed.map(({ wireId }) => wireId);
  try {
    return await findMessages(record.sessionId, [...ids, ...record.joinedMessages]);
  } catch (error) {
    log.warn({ err: error, stageId: launch.stageId }, 'reading the conversation of an ended process failed');
    return null;
  }
}

const MAX_ERROR_LENGTH = 2_000;

/** Returns how a process ended, in words for a person, with the end of its stderr: start-up refusals appear only there. */
async function exitReason(exit: ProcessExit, folder: string, isOfEarlierBoot: boolean): Promise<string> {
  const files = launchFiles(folder);
  const reported = await readFile(files.endReason, 'utf8').catch(() => '');
  if (reported !== '') return reported;
  if (isOfEarlierBoot) return 'The machine was restarted while Claude Code was running.';
  const errors = (await readFile(files.errors, 'utf8').catch(() => '')).trim().slice(-MAX_ERROR_LENGTH);
  const what = describeExit(exit);
  return errors === '' ? `${what}.` : `${what}: ${errors}`;
}

function describeExit(exit: ProcessExit): string {
  if (!exit.known) return 'The Claude Code process is gone';
  if (exit.signal !== null) return `The Claude Code process was ended by ${exit.signal}`;
  return exit.code === 0
    ? 'The Claude Code process ended'
    : `The Claude Code process ended with exit code ${exit.code}`;
}

/** How long each step of a stop may take before the next, harsher one. */
export interface StopGraces {
  interruptMs: number;
  endSessionMs: number;
  signalMs: number;
}

export interface StopDeps {
  executor: SessionExecutor;
  store: Pick<Store, 'read'>;
  log: Logger;
  graces: StopGraces;
}

export interface LaunchStopper {
  /** As `RunningLaunch.stop`. @param ended resolves when the launch is settled */
  stop(reason: string, isAsked: boolean, ended: Promise<unknown>): Promise<void>;
  /** Returns the reason of the stop; null if nobody stopped the process, or something else ended it first. */
  reasonIfStopped(exit: ProcessExit): string | null;
}

/** Ends the process of a launch, step by step. */
function createLaunchStopper({ executor, store, log, graces }: StopDeps): LaunchStopper {
  const { launch, process } = executor;
  let stopReason: string | null = null;
  /** How far the stop got with the process. */
  let step: 'none' | 'found-gone' | 'asked' | 'signalled' = 'none';
  let stopping: Promise<void> | undefined;

  async function escalate(isAsked: boolean): Promise<void> {
    if (step === 'none') step = (await isAlive(process.identity)) ? 'asked' : 'found-gone';
    if (!isAsked) await askToEnd();
    if (await isGoneWithin(process.identity, graces.endSessionMs)) return;
    step = 'signalled';
    if (!(await terminate(process.identity, graces.signalMs))) {
      throw new Error(`process ${process.identity.pid} does not end, not even by SIGKILL`);
    }
  }

  async function askToEnd(): Promise<void> {
    const record = await store.read.sessions.find(launch.stageId);
    if (record?.turnRunning) await ask({ subtype: 'interrupt', cancel_queued: true }, graces.interruptMs);
    await ask({ subtype: 'end_session' }, graces.endSessionMs);
  }

  /** The next step follows a step that fails or takes too long, so the failure is only logged. */
  async function ask(request: { subtype: string; [field: string]: unknown }, graceMs: number): Promise<void> {
    try {
      await executor.request(request, AbortSignal.timeout(graceMs), stopReason ?? undefined);
    } catch (error) {
      log.info({ reason: messageOf(error), request: request.subtype }, 'a step of a stop failed');
    }
  }

  return {
    reasonIfStopped(exit) {
      // A signal that Callboard did not send came from elsewhere.
      const wasFirst = step === 'found-gone' || (exit.known && exit.signal !== null && step !== 'signalled');
      return wasFirst ? null : stopReason;
    },
    stop(reason, isAsked, ended) {
      stopReason ??= reason;
      stopping ??= escalate(isAsked)
        .then(async () => void (await ended))
        .catch((error: unknown) => {
          stopping = undefined; // the next caller does not get this failure, but another attempt
          throw error;
        });
      return stopping;
    },
  };
}

export interface AttachDeps extends ExecutorDeps {
  /** The user's environment. */
  env: Record<string, string>;
  graces: StopGraces;
  /** As `RunningDeps.onEnded`. */
  onEnded: (launch: LaunchRecord) => void;
  onSurvivors?: RunningDeps['onSurvivors'];
  /** As `RunningDeps.onGone`. */
  onGone: (launch: LaunchRecord) => Promise<void>;
}

/** Opens the channel to a launch's process (or only the spool, if the process is gone), and watches it until everything is settled. */
export async function attachLaunch(
  deps: AttachDeps,
  launchId: LaunchId,
  process: AgentProcess,
  open: typeof openStdioChannel = openStdioChannel,
): Promise<RunningLaunch> {
  const { store, platform, log, env, graces } = deps;
  const launch = await store.read.launches.find(launchId);
  if (launch === null) throw new Error(`launch ${launchId} is not in the store`);
  const stage = await store.read.stages.find(launch.stageId);
  // A living process is of this boot.
  const isOfEarlierBoot = open === openSpoolOnly && isOfAnotherBoot(process.identity, await platform.bootId());
  const worktree = stage?.worktree?.path ?? null;
  const place = {
    isOfEarlierBoot,
    worktree,
    readServer: async (server: { conversationId: string; name: string }) =>
      worktree === null ? null : mcpText(env, { worktree, ...server }),
    findHosts: async (command: string) => (worktree === null ? [] : neededHosts(command, { worktree, env })),
    mayHooksAllow: launch.settings.runsRepositoryHooks || (await mayUserHooksAllow(env)),
    readConversation: (conversationId: string) => conversationTail(env, conversationId),
    readHooks: (conversationId: string) => hooksInConversation(env, conversationId),
  };
  const executor = createSessionExecutor({ launch, process, channel: openOrRead(open, launch, process), place }, deps);
  const findMessages = (conversationId: string, messageIds: readonly string[]) =>
    messagesInConversation(env, conversationId, messageIds);
  const sizeOfConversation = (conversationId: string) => conversationBytes(env, conversationId);
  const wasWatched = open === openStdioChannel;
  const [onEnded, onGone] = [() => deps.onEnded(launch), () => deps.onGone(launch)];
  return watchLaunch(executor, {
    store,
    log,
    graces,
    wasWatched,
    isOfEarlierBoot,
    findMessages,
    sizeOfConversation,
    onEnded,
    onSurvivors: deps.onSurvivors,
    onGone,
  });
}

const isOfAnotherBoot = ({ bootId }: ProcessIdentity, now: string | null): boolean => now !== null && bootId !== now;

/** If the process ended before its input could be opened, its output is still read and its end settled. */
function openOrRead(
  open: typeof openStdioChannel,
  { folder, spoolOffset }: LaunchRecord,
  process: AgentProcess,
): Channel {
  try {
    return open(folder, spoolOffset, process.identity.pid);
  } catch (error) {
    if (error instanceof AppError && error.code === 'process_gone') return openSpoolOnly(folder, spoolOffset);
    throw error;
  }
}

/** A control request to the CLI. */
export interface ControlRequest {
  subtype: string;
  [field: string]: unknown;
}

interface ModelChange {
  model?: string | null | undefined;
  effort?: Effort | undefined;
}

/** Requests to the process of a session. */
export interface ProcessRequests {
  /**
   * Interrupts the running turn. A process that does not confirm in time is ended; its session can be resumed.
   * @param reason in words, for requests that were open in the turn
   * @throws Rejection `no_session`, `not_running`, also if the process turns out to be dead; OperationalError `storage_failed`, and then nothing was done
   */
  interrupt(stageId: StageId, reason?: string): Promise<void>;
  /** Changes the mode of the session, and of its next launches. @throws Rejection `no_session`, `refused_by_claude`, `no_confirmation` */
  setMode(stageId: StageId, mode: PermissionMode): Promise<void>;
  /** Changes the model (null: the default one), the effort, or both. @throws as `setMode` */
  setModel(stageId: StageId, change: ModelChange): Promise<void>;
  /**
   * Returns the reply of the stage's process to a control request.
   * @throws Rejection `no_session`, `not_running`, `no_confirmation`; ProtocolError `refused` with the CLI's words
   */
  ask(stageId: StageId, request: ControlRequest, limitMs?: number): Promise<Record<string, unknown>>;
}

export interface ProcessRequestsDeps {
  store: Store;
  log: Logger;
  graces: StopGraces;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  /** As `RunningLookup.find`. */
  findRunning: (stageId: StageId) => Promise<RunningLaunch | undefined>;
  /** As `RunningLookup.require`. */
  requireRunning: (stageId: StageId) => Promise<RunningLaunch>;
}

const CONFIRMATION_MS = 10_000;

export function createProcessRequests(deps: ProcessRequestsDeps): ProcessRequests {
  const { store, env, findRunning, requireRunning } = deps;

  async function requestConfirmed(launch: RunningLaunch, request: ControlRequest): Promise<void> {
    try {
      await ask(launch, request);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new Rejection('refused_by_claude', `Claude Code refused: ${error.message}`, { cause: error });
    }
    await store.sync(); // the CLI's confirmation is on disk before the person hears of it
  }

  return {
    ask: async (stageId, request, limitMs) => ask(await requireRunning(stageId), request, limitMs),
    async interrupt(stageId, reason) {
      await interrupt(deps, await requireRunning(stageId), reason);
    },
    async setMode(stageId, mode) {
      const launch = await findRunning(stageId);
      if (launch !== undefined) return requestConfirmed(launch, { subtype: 'set_permission_mode', mode });
      const refusal = refusedMode(mode, { uid: process.getuid?.(), env });
      await store.transact((tx) =>
        changeSession(tx, stageId, (change) => {
          if (refusal !== null) throw new Rejection('refused_by_claude', `Claude Code refused: ${refusal}.`);
          change.record = { ...change.record, mode }; // for the next launch
        }),
      );
    },
    async setModel(stageId, { model, effort }) {
      const launch = await findRunning(stageId);
      if (launch !== undefined && model !== undefined) await requestConfirmed(launch, { subtype: 'set_model', model });
      if (launch !== undefined && effort !== undefined) {
        await requestConfirmed(launch, { subtype: 'apply_flag_settings', settings: { effortLevel: effort } });
      }
      await store.transact((tx) => storeModel(tx, stageId, { model, effort }));
    },
  };
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
      'Claude Code did not confirm in time, so it is unknown whether it will follow. Look at the session before trying again.';
    throw new Rejection('no_confirmation', message, { cause: error });
  }
}

async function interrupt({ graces, log }: ProcessRequestsDeps, launch: RunningLaunch, reason?: string): Promise<void> {
  const request = { subtype: 'interrupt', cancel_queued: true };
  try {
    await launch.executor.request(request, AbortSignal.timeout(graces.interruptMs), reason);
  } catch (error) {
    if (isStorageFailure(error)) throw error; // the process was not asked, so it cannot be blamed
    const { stageId } = launch.executor.launch;
    log.warn({ err: error, stageId }, 'an interrupt was not confirmed; ending the process');
    await launch.stop(
      'Claude Code did not react to the interrupt, so its process was ended. A message resumes the session.',
    );
    const end = await launch.ended;
    if (end?.kind !== 'died') return;
    const message = `There was nothing left to interrupt: ${end.reason} The turn is over. A message resumes the session.`;
    throw new Rejection('not_running', message, { cause: error });
  }
}

/** Stores the choice for this session and for later launches. */
async function storeModel(tx: Tx, stageId: StageId, { model, effort }: ModelChange): Promise<void> {
  await changeSession(tx, stageId, (change) => {
    if (effort !== undefined) change.record = { ...change.record, effort };
    // Shown at once; the next turn reports the model that is in use.
    if (model !== undefined) change.record = { ...change.record, model };
  });
  const before = await requireStage(tx, stageId);
  const stage = {
    ...before,
    model: model === undefined ? before.model : model,
    effort: effort ?? before.effort,
    updatedAt: tx.now,
  };
  await tx.stages.update(stage);
  await tx.emit({ type: 'stage-updated', data: { stageId, stage } });
}
