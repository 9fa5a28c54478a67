import type { Platform } from '../lib/edges.ts';
import type { Logger } from '../lib/logger.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';
import type { DeliveryRecord } from '../store/announcement-records.ts';
import type { Store, Tables } from '../store/store.ts';
import { createAttempts } from './attempt.ts';
import type { Channel } from './channel.ts';

/** Sends the stored messages of all channels. */
export interface Deliverer {
  /** A hint that there may be something to send. */
  schedule(): void;
  /** Resolves when all that is due has been tried. */
  drain(): Promise<void>;
  /** Ends what is being sent; it is sent again at the next start. */
  stop(): Promise<void>;
}

interface DelivererDeps {
  store: Store;
  platform: Pick<Platform, 'now'>;
  log: Logger;
  channels: readonly Channel[];
  /** Whether this machine sends them, of those that share the store; left out where there is one. */
  leads?: ((tables: Pick<Tables, 'machines'>) => Promise<boolean>) | undefined;
}

/** A target that does not answer takes one of these. */
const AT_ONCE = 16;
/** How often is looked for messages that other machines stored. */
const LEAD_CHECK_INTERVAL_MS = 2_000;
/** A timer stands still while the machine sleeps. */
const MAX_SLEEP_MS = 60_000;

/**
 * Sends each message when it is due, a few at once, and tries again after failures. An attempt is stored before it begins, and its outcome
 * after it: after a crash in between, the message is sent once more.
 */
export function startDeliverer({ store, platform, log, channels, leads }: DelivererDeps): Deliverer {
  const stopping = new AbortController();
  const attempt = createAttempts({ store, log, channels, leads }, stopping.signal);
  let timer: NodeJS.Timeout | undefined;
  const later = (inMs: number) => {
    clearTimeout(timer);
    if (!stopping.signal.aborted) timer = setTimeout(worker.schedule, Math.max(1, inMs)).unref();
  };

  const worker = createCoalescingWorker(sendDue, (error) => {
    log.error({ err: error }, 'messages about announcements not sent');
    later(MAX_SLEEP_MS);
  });
  /** What is being sent, by its target: one message after another, so that a slow target holds up no other. */
  const underway = new Map<string, Promise<void>>();

  async function sendDue(): Promise<void> {
    if (leads !== undefined && !(await leads(store.read))) return;
    const next = await store.read.deliveries.listNext();
    const now = platform.now();
    for (const row of next) {
      const lane = `${row.channel} ${row.target}`;
      if (underway.has(lane)) continue;
      if (stopping.signal.aborted || underway.size >= AT_ONCE) return;
      if (row.dueAt > now.toISOString()) return later(Math.min(Date.parse(row.dueAt) - now.getTime(), MAX_SLEEP_MS));
      underway.set(lane, deliverIn(lane, row));
    }
  }

  async function deliverIn(lane: string, row: DeliveryRecord): Promise<void> {
    const failed: unknown = await attempt(row).then(
      () => null,
      (error: unknown) => error,
    );
    underway.delete(lane);
    if (failed === null) return worker.schedule();
    log.error({ err: failed, channel: row.channel }, 'what became of a message was not stored');
    later(MAX_SLEEP_MS);
  }

  async function drain(): Promise<void> {
    await worker.drain();
    while (underway.size > 0) {
      await Promise.all(underway.values());
      await worker.drain();
    }
  }

  // Others store messages as well, and the one that sent them may be gone.
  const watching = leads === undefined ? undefined : setInterval(worker.schedule, LEAD_CHECK_INTERVAL_MS).unref();
  worker.schedule();
  return {
    schedule: worker.schedule,
    drain,
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      clearInterval(watching);
      await worker.stop();
      await Promise.all(underway.values());
    },
  };
}
