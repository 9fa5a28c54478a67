import { messageOf } from '@callboard/runtime/errors';
import { isAlive } from '@callboard/runtime/process-identity';
import type { ProcessExit } from '../../claude/launch/spawn-claude.ts';
import { isGoneWithin, terminate } from '../../claude/processes/end-processes.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../../store/store.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';

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
export function createLaunchStopper({ executor, store, log, graces }: StopDeps): LaunchStopper {
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
