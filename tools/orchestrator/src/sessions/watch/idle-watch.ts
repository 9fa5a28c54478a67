import type { StageId } from '@callboard/contract';
import type { Platform } from '../../lib/edges.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../../store/store.ts';

export interface IdleWatchDeps {
  store: Store;
  platform: Platform;
  log: Logger;
  /** How long a session may be idle before its process is ended. */
  idleMs: number;
  endIdle: (stageId: StageId) => Promise<void>;
}

const CHECK_INTERVAL_MS = 30_000;

/**
 * Ends processes that have been idle for long; a waiting session is never idle. The time counts from when the session was
 * first seen idle, by the monotonic clock: a jump of the time of day ends nothing.
 */
export function startIdleWatch({ store, platform, log, idleMs, endIdle }: IdleWatchDeps): {
  stop: () => void;
  endAllIdle: () => Promise<void>;
} {
  /** For each idle session, its stored `stateSince`, and when it was first seen idle, in `uptimeMs`. */
  const seen = new Map<StageId, { stateSince: string; at: number }>();

  async function endIdleFor(ms: number): Promise<void> {
    for (const { stageId, state, stateSince } of await store.read.sessions.list()) {
      if (state !== 'idle') {
        seen.delete(stageId);
        continue;
      }
      const known = seen.get(stageId);
      const since = known?.stateSince === stateSince ? known : { stateSince, at: platform.uptimeMs() };
      seen.set(stageId, since);
      if (platform.uptimeMs() - since.at >= ms) await endOne(stageId);
    }
  }

  /** A session that does not end does not delay the others. */
  async function endOne(stageId: StageId): Promise<void> {
    try {
      await endIdle(stageId);
    } catch (error) {
      log.error({ err: error, stageId }, 'ending an idle session failed');
    }
  }
  const timer = setInterval(() => {
    endIdleFor(idleMs).catch((error: unknown) => log.error({ err: error }, 'ending idle sessions failed'));
  }, CHECK_INTERVAL_MS).unref();
  return { endAllIdle: () => endIdleFor(0), stop: () => clearInterval(timer) };
}
