import type { Platform } from '../lib/edges.ts';
import type { Logger } from '../lib/logger.ts';
import type { Store, Tx } from './store.ts';

const RETAINED_EVENTS = 200_000;
/** About 2 KB for each of them. */
const RETAINED_BYTES = 400 * 1024 * 1024;
const RETENTION_MS = 14 * 24 * 3_600_000;
/** A draft file that has waited this long for its message is deleted. */
const DRAFT_FILES_RETENTION_MS = 30 * 24 * 3_600_000;
const TRASH_RETENTION_MS = 30 * 24 * 3_600_000;
/** What was told and is settled. */
const ANNOUNCEMENTS_RETENTION_MS = 7 * 24 * 3_600_000;
/** What Callboard merged, and told, this long ago is no news. */
const UPDATES_MS = 24 * 3_600_000;
const EVERY_MS = 3_600_000;
/** How often the clock advances: a crash loses no more than this. */
const CLOCK_MS = 10 * 60_000;

interface PruningDeps {
  store: Store;
  platform: Platform;
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
export function startPruning(deps: PruningDeps): { stop: () => void } {
  const { store, platform, log, forgetDraftFiles, forgetTrash, settleCompleted } = deps;
  let counted = platform.uptimeMs();
  let pruned = Number.NEGATIVE_INFINITY;

  async function pruneWhenDue(): Promise<void> {
    const now = platform.uptimeMs();
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
    const olderThan = before(RETENTION_MS);
    await store.transact(
      async (tx) => {
        await tx.events.prune({ save: RETAINED_EVENTS, retainBytes: RETAINED_BYTES, olderThan });
        await settleCompleted(tx, before(UPDATES_MS));
        await tx.announcements.forgetSettledBefore(before(ANNOUNCEMENTS_RETENTION_MS));
      },
      { sync: 'later' },
    );
    await forgetDraftFiles(before(DRAFT_FILES_RETENTION_MS));
    await forgetTrash(before(TRASH_RETENTION_MS));
  }

  const run = () => void pruneWhenDue().catch((error: unknown) => log.error({ err: error }, 'store not pruned'));
  run();
  const timer = setInterval(run, CLOCK_MS).unref();
  return { stop: () => clearInterval(timer) };
}
