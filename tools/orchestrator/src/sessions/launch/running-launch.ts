import { readFile, rm } from 'node:fs/promises';
import type { LaunchId, TurnOutcome } from '@callboard/contract';
import { launchFiles } from '../../claude/launch/launch-folder.ts';
import type { ProcessExit } from '../../claude/launch/spawn-claude.ts';
import { endMarked } from '../../claude/processes/end-processes.ts';
import { rememberRecord } from '../../domain/conversation-damage.ts';
import { endLaunch, type LaunchEnd } from '../../domain/end-launch.ts';
import { type FoundMessages, unconfirmedMessages } from '../../domain/unconfirmed-messages.ts';
import type { Logger } from '../../lib/logger.ts';
import type { LaunchRecord, SessionRecord } from '../../store/records.ts';
import { retryUntilStored, retryWhileStoreFails } from '../../store/retry-until-stored.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';
import { watchLeftovers } from './leftover-processes.ts';
import { createLaunchStopper, type LaunchStopper, type StopGraces } from './stop-launch.ts';

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
