import type { Edges } from '../lib/edges.ts';
import type { Logger } from '../lib/logger.ts';
import type { Store } from './store.ts';

const KEEP_EVENTS = 200_000;
/** Some 2 KB for each of them. */
const KEEP_BYTES = 400 * 1024 * 1024;
const KEEP_MS = 14 * 24 * 3_600_000;
const EVERY_MS = 3_600_000;

/** Keeps the event log from growing without bound. Transcripts, decisions and everything else that is shown stay. */
export function startPruning({ store, edges, log }: { store: Store; edges: Edges; log: Logger }): { stop: () => void } {
  async function prune(): Promise<void> {
    const olderThan = new Date(edges.now().getTime() - KEEP_MS).toISOString();
    await store.transact((tx) => tx.events.prune({ keep: KEEP_EVENTS, keepBytes: KEEP_BYTES, olderThan }));
  }
  const run = () => void prune().catch((error: unknown) => log.error({ err: error }, 'pruning the event log failed'));
  run();
  const timer = setInterval(run, EVERY_MS).unref();
  return { stop: () => clearInterval(timer) };
}
