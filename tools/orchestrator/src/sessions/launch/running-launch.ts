import { rm } from 'node:fs/promises';
import { isAlive } from '@callboard/runtime/process-identity';
import { launchFiles } from '../../claude/launch/launch-folder.ts';
import type { ProcessExit } from '../../claude/launch/spawn-claude.ts';
import { endMarked, isGoneWithin, terminate } from '../../claude/processes/end-processes.ts';
import { endLaunch, type LaunchEnd } from '../../domain/end-launch.ts';
import { type FoundMessages, unconfirmedMessages } from '../../domain/unconfirmed-messages.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { SessionRecord } from '../../store/records.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';
import { retryUntilStored } from '../retry-until-stored.ts';
import { exitReason } from './exit-reason.ts';
import { watchLeftovers } from './leftover-processes.ts';

/** How long each step of a stop may take before the next, harsher one. */
export interface StopGraces {
  interruptMs: number;
  endSessionMs: number;
  signalMs: number;
}

export interface RunningParts {
  store: Store;
  log: Logger;
  graces: StopGraces;
  /** False for a process that had ended before we came. */
  wasWatched: boolean;
  /** The machine has been started anew since the process ran. */
  isOfEarlierBoot: boolean;
  /** Which of these messages a conversation has, null where it is not there; to be asked when no process writes it any more. */
  findMessages: (conversationId: string, messageIds: readonly string[]) => Promise<FoundMessages>;
  /** That it has ended is stored, and told; what it has left behind is yet to be ended. */
  onEnded: () => void;
  /** No process of it lives any more, nor any that it started. A failure is only noted. */
  onGone: () => Promise<void>;
}

/** A session with a living process, from its attachment until the process has ended and everything is settled. */
export interface RunningLaunch {
  readonly executor: SessionExecutor;
  /**
   * Ends the process: interrupt, `end_session`, SIGTERM, SIGKILL. Resolves when it is gone and settled; idempotent, and
   * tried again after a failure. `ended` tells whether it was this that ended it, or something else was quicker.
   * @param isAsked an `end_session` is in the outbox already, for a process that is idle
   */
  stop(reason: string, isAsked?: boolean): Promise<void>;
  /** Lets the process live on without us. */
  detach(): Promise<void>;
  /** Resolves with why it ended, once that is stored; with null after a detach. */
  readonly ended: Promise<LaunchEnd | null>;
}

export function watchLaunch(
  executor: SessionExecutor,
  { store, log, graces, wasWatched, isOfEarlierBoot, findMessages, onEnded, onGone }: RunningParts,
): RunningLaunch {
  const { launch, process } = executor;
  const watching = new AbortController();
  const leftovers = watchLeftovers({ store, log, executor });
  let stopReason: string | null = null;
  /** What of a stop came to the process, or to where it had been. */
  let step: 'none' | 'found-gone' | 'asked' | 'signalled' = 'none';
  let stopping: Promise<void> | undefined;

  async function watch(): Promise<LaunchEnd | null> {
    const exit = await process.exited(watching.signal);
    if (watching.signal.aborted) return null;
    await executor.finish();
    if (watching.signal.aborted) return null; // not all of it was taken in: the next start settles it
    const reason = await exitReason(exit, launchFiles(launch.folder).errors, isOfEarlierBoot);
    const record = await store.read.sessions.find(launch.stageId);
    const end = ((): LaunchEnd => {
      if (stopReason !== null && !wasQuicker(exit)) return { kind: 'stopped', reason: stopReason };
      return record?.launchState === 'starting'
        ? { kind: 'not-started', reason }
        : { kind: 'died', reason, wasWatched };
    })();
    const inConversation = await lookUp(record);
    const settle = async (tx: Tx) => {
      await endLaunch(tx, launch, end, inConversation);
      tx.afterCommit(onEnded);
    };
    // On disk, with all that was read of the spool, before the spool goes.
    await retryUntilStored({ store, log, signal: watching.signal }, settle, { sync: 'now' });
    await endMarked([launch.id], graces.signalMs);
    await leftovers.settle(record?.sessionId ?? null, watching.signal);
    await onGone().catch((error: unknown) =>
      log.warn({ err: error, stageId: launch.stageId }, 'what a sandbox left behind was not removed'),
    );
    await rm(launch.folder, { recursive: true, force: true });
    return end;
  }

  /** Whether something other than our stop ended the process. A signal that we did not send is such a thing. */
  function wasQuicker(exit: ProcessExit): boolean {
    return step === 'found-gone' || (exit.known && exit.signal !== null && step !== 'signalled');
  }

  /** A conversation that cannot be read tells nothing: what is then given again is dropped by the CLI itself, as far as it does so. */
  async function lookUp(record: SessionRecord | null): Promise<FoundMessages> {
    if (record?.sessionId == null) return null;
    const inDoubt = await unconfirmedMessages(store.read, record, launch.id);
    const ids = inDoubt.map(({ wireId }) => wireId);
    try {
      return await findMessages(record.sessionId, [...ids, ...record.joinedMessages]);
    } catch (error) {
      log.warn({ err: error, stageId: launch.stageId }, 'the conversation of an ended process could not be read');
      return null;
    }
  }

  const ended = watch().catch((error: unknown) => {
    if (watching.signal.aborted) return null;
    throw error;
  });
  ended.catch((error: unknown) =>
    log.error({ err: error, stageId: launch.stageId }, 'settling an ended process failed'),
  );

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

  /** A step that fails or takes too long is followed by the next one, so its failure is only noted. */
  async function ask(request: { subtype: string; [field: string]: unknown }, graceMs: number): Promise<void> {
    try {
      await executor.request(request, AbortSignal.timeout(graceMs), stopReason ?? undefined);
    } catch (error) {
      log.info({ reason: messageOf(error), request: request.subtype }, 'a step of a stop did not work');
    }
  }

  return {
    executor,
    ended,
    stop(reason, isAsked = false) {
      stopReason ??= reason;
      stopping ??= escalate(isAsked)
        .then(async () => void (await ended))
        .catch((error: unknown) => {
          stopping = undefined; // whoever asks again is not told of this failure, but has it tried again
          throw error;
        });
      return stopping;
    },
    async detach() {
      watching.abort();
      await leftovers.stop();
      await executor.detach();
    },
  };
}
