import type { Edges } from '../lib/edges.ts';
import type { Logger } from '../lib/logger.ts';
import type { Store } from './store.ts';

const KEEP_EVENTS = 200_000;
/** Some 2 KB for each of them. */
const KEEP_BYTES = 400 * 1024 * 1024;
const KEEP_MS = 14 * 24 * 3_600_000;
/** Whoever added a file that waited so long for its message has forgotten it. */
const KEEP_DRAFT_FILES_MS = 30 * 24 * 3_600_000;
const KEEP_TRASH_MS = 30 * 24 * 3_600_000;
const EVERY_MS = 3_600_000;
/** A crash loses no more of the time that went by. */
const CLOCK_MS = 10 * 60_000;

interface PruningParts {
  store: Store;
  edges: Edges;
  log: Logger;
  /** Forgets the files that were added to a draft before this instant and never sent. */
  forgetDraftFiles: (instant: string) => Promise<void>;
  /** Deletes what was put into the trash before this instant. */
  forgetTrash: (instant: string) => Promise<void>;
}

/**
 * Keeps the store from growing without bound. Transcripts, decisions and everything else that is shown stay. What is old
 * is so by the time that Callboard has really lived through: a clock that is set forward makes nothing old.
 */
export function startPruning({ store, edges, log, forgetDraftFiles, forgetTrash }: PruningParts): { stop: () => void } {
  let counted = edges.uptimeMs();
  let pruned = Number.NEGATIVE_INFINITY;

  async function goOn(): Promise<void> {
    const now = edges.uptimeMs();
    const elapsed = now - counted;
    counted = now;
    const livedUntil = await store
      .transact((tx) => tx.clock.goOn(tx.now, elapsed), { sync: 'later' })
      .catch((error: unknown) => {
        counted -= elapsed; // for the next time
        throw error;
      });
    if (now - pruned < EVERY_MS) return;
    pruned = now;
    const before = (ms: number) => new Date(Date.parse(livedUntil) - ms).toISOString();
    const olderThan = before(KEEP_MS);
    await store.transact((tx) => tx.events.prune({ keep: KEEP_EVENTS, keepBytes: KEEP_BYTES, olderThan }), {
      sync: 'later',
    });
    await forgetDraftFiles(before(KEEP_DRAFT_FILES_MS));
    await forgetTrash(before(KEEP_TRASH_MS));
  }

  const run = () => void goOn().catch((error: unknown) => log.error({ err: error }, 'pruning the store failed'));
  run();
  const timer = setInterval(run, CLOCK_MS).unref();
  return { stop: () => clearInterval(timer) };
}
