import { isChecking, type LaunchId, type StageId } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { AppError, Rejection } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import type { LaunchRecord } from '../../store/records.ts';
import { type RetryDeps, retryUntilStored, type Store, type Tx } from '../../store/store.ts';
import { type Channel, openSpoolOnly, openStdioChannel } from '../claude/channel.ts';
import type { AgentProcess } from '../claude/claude-process.ts';
import {
  conversationBytes,
  conversationTail,
  hooksInConversation,
  mcpText,
  messagesInConversation,
} from '../claude/conversation-file.ts';
import { mayUserHooksAllow } from '../claude/launch-options.ts';
import { InitializedState } from '../claude/wire.ts';
import { createSessionExecutor, type ExecutorDeps, type SessionExecutor } from '../executor/session-executor.ts';
import { applyEvent } from '../session/apply-agent-event.ts';
import { changeSession, noSession } from '../session/change-session.ts';
import type { LaunchEnd } from '../session/end-launch.ts';
import { requireNotInTerminal } from '../session/rewind-rules.ts';
import { addEntry } from '../session/session-change.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Launcher } from './launcher.ts';
import { cleanUpSandbox } from './prepare-launch.ts';
import { type RunningDeps, type RunningLaunch, type StopGraces, watchLaunch } from './running-launch.ts';

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
export const ALARMED = 'Stopped by Callboard: the session has an open security alarm.';
const UNREADABLE =
  'Ended by Callboard because the output of Claude Code can no longer be read. A message resumes the session.';

export function createLaunchRegistry(deps: LaunchRegistryDeps): LaunchRegistry {
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

export function createRunningLookup({ store, registry, launcher }: RunningLookupDeps): RunningLookup {
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
export async function recoverLostOutput(
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
export const reportsIdle = (reply: Record<string, unknown>): boolean =>
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
async function attachLaunch(
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
