import type { StageId } from '@callboard/contract';
import type { Edges } from '../lib/edges.ts';
import type { Logger } from '../lib/logger.ts';
import type { Store } from '../store/store.ts';

export interface IdleWatchParts {
  store: Store;
  edges: Edges;
  log: Logger;
  /** How long a session may be idle before its process is ended. */
  idleMs: number;
  endIdle: (stageId: StageId) => Promise<void>;
}

const LOOK_MS = 30_000;

/** Ends processes that have had nothing to do for long; a waiting session is never idle. */
export function startIdleWatch({ store, edges, log, idleMs, endIdle }: IdleWatchParts): {
  stop: () => void;
  endAllIdle: () => Promise<void>;
} {
  async function endIdleSince(before: number): Promise<void> {
    for (const { stageId, state, stateSince } of await store.read.sessions.list()) {
      if (state === 'idle' && Date.parse(stateSince) < before) await endIdle(stageId);
    }
  }
  const timer = setInterval(() => {
    endIdleSince(edges.now().getTime() - idleMs).catch((error: unknown) =>
      log.error({ err: error }, 'ending idle sessions failed'),
    );
  }, LOOK_MS).unref();
  return { endAllIdle: () => endIdleSince(Number.POSITIVE_INFINITY), stop: () => clearInterval(timer) };
}
