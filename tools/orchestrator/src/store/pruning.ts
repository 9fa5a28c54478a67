import type { Edges } from '../lib/edges.ts';
import type { Logger } from '../lib/logger.ts';
import type { Store, Tx } from './store.ts';

const KEEP_EVENTS = 200_000;
/** About 2 KB for each of them. */
const KEEP_BYTES = 400 * 1024 * 1024;
const KEEP_MS = 14 * 24 * 3_600_000;
/** A draft file that has waited this long for its message is deleted. */
const KEEP_DRAFT_FILES_MS = 30 * 24 * 3_600_000;
const KEEP_TRASH_MS = 30 * 24 * 3_600_000;
/** What was told and is settled. */
const KEEP_ANNOUNCEMENTS_MS = 7 * 24 * 3_600_000;
/** What Callboard merged, and told, this long ago is no news. */
const NEWS_MS = 24 * 3_600_000;
const EVERY_MS = 3_600_000;
/** How often the clock advances: a crash loses no more than this. */
const CLOCK_MS = 10 * 60_000;

interface PruningParts {
  store: Store;
  edges: Edges;
  log: Logger;
  /** Deletes files that were added to a draft before this instant and never sent. */
  forgetDraftFiles: (instant: string) => Promise<void>;
  /** Deletes trash entries from before this instant. */
  forgetTrash: (instant: string) => Promise<void>;
  /** Settles what was announced of completed stages before this instant, and tells nobody. */
  settleCompleted: (tx: Tx, instant: string) => Promise<void>;
}

/**
 * Keeps the store from growing without bound. Transcripts, decisions and everything else people see stay. Age is counted
 * while Callboard runs, so setting the time of day forward makes nothing old.
 */
export function startPruning(parts: PruningParts): { stop: () => void } {
  const { store, edges, log, forgetDraftFiles, forgetTrash, settleCompleted } = parts;
  let counted = edges.uptimeMs();
  let pruned = Number.NEGATIVE_INFINITY;

  async function pruneWhenDue(): Promise<void> {
    const now = edges.uptimeMs();
    const elapsed = now - counted;
    counted = now;
    const livedUntil = await store
      .transact((tx) => tx.clock.advance(tx.now, elapsed), { sync: 'later' })
      .catch((error: unknown) => {
        counted -= elapsed; // counts with the next call
        throw error;
      });
    if (now - pruned < EVERY_MS) return;
    pruned = now;
    const before = (ms: number) => new Date(Date.parse(livedUntil) - ms).toISOString();
    const olderThan = before(KEEP_MS);
    await store.transact(
      async (tx) => {
        await tx.events.prune({ keep: KEEP_EVENTS, keepBytes: KEEP_BYTES, olderThan });
        await settleCompleted(tx, before(NEWS_MS));
        await tx.announcements.forgetSettledBefore(before(KEEP_ANNOUNCEMENTS_MS));
      },
      { sync: 'later' },
    );
    await forgetDraftFiles(before(KEEP_DRAFT_FILES_MS));
    await forgetTrash(before(KEEP_TRASH_MS));
  }

  const run = () => void pruneWhenDue().catch((error: unknown) => log.error({ err: error }, 'store not pruned'));
  run();
  const timer = setInterval(run, CLOCK_MS).unref();
  return { stop: () => clearInterval(timer) };
}
