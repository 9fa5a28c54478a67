import type { StageId } from '@callboard/contract';
import type { Edges } from '../../lib/edges.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../../store/store.ts';

export interface IdleWatchParts {
  store: Store;
  edges: Edges;
  log: Logger;
  /** How long a session may be idle before its process is ended. */
  idleMs: number;
  endIdle: (stageId: StageId) => Promise<void>;
}

const LOOK_MS = 30_000;

/**
 * Ends processes that have had nothing to do for long; a waiting session is never idle. The time counts from when it
 * was first seen to be idle, on the clock that nobody sets: a time of day that jumps ends nothing.
 */
export function startIdleWatch({ store, edges, log, idleMs, endIdle }: IdleWatchParts): {
  stop: () => void;
  endAllIdle: () => Promise<void>;
} {
  /** Since when each idle session is, by the time of day as the store has it, and in `uptimeMs` as it was seen. */
  const seen = new Map<StageId, { stateSince: string; at: number }>();

  async function endIdleFor(ms: number): Promise<void> {
    for (const { stageId, state, stateSince } of await store.read.sessions.list()) {
      if (state !== 'idle') {
        seen.delete(stageId);
        continue;
      }
      const known = seen.get(stageId);
      const since = known?.stateSince === stateSince ? known : { stateSince, at: edges.uptimeMs() };
      seen.set(stageId, since);
      if (edges.uptimeMs() - since.at >= ms) await endOne(stageId);
    }
  }

  /** One that does not end does not hold up the others. */
  async function endOne(stageId: StageId): Promise<void> {
    try {
      await endIdle(stageId);
    } catch (error) {
      log.error({ err: error, stageId }, 'ending an idle session failed');
    }
  }
  const timer = setInterval(() => {
    endIdleFor(idleMs).catch((error: unknown) => log.error({ err: error }, 'ending idle sessions failed'));
  }, LOOK_MS).unref();
  return { endAllIdle: () => endIdleFor(0), stop: () => clearInterval(timer) };
}
