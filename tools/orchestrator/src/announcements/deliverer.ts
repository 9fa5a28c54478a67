import type { Edges } from '../lib/edges.ts';
import type { Logger } from '../lib/logger.ts';
import { createNudgedWorker } from '../lib/nudged-worker.ts';
import type { AnnouncementRecord, DeliveryRecord } from '../store/announcement-records.ts';
import type { Store } from '../store/store.ts';
import type { Channel, Outcome } from './channel.ts';

/** Sends the stored messages of all channels. */
export interface Deliverer {
  /** A hint that there may be something to send. */
  nudge(): void;
  /** Resolves when all that is due has been tried. */
  drain(): Promise<void>;
  /** Ends what is being sent; it is sent again at the next start. */
  stop(): Promise<void>;
}

interface DelivererParts {
  store: Store;
  edges: Pick<Edges, 'now'>;
  log: Logger;
  channels: readonly Channel[];
}

/** Waits between attempts: the last one repeats until the message is outdated. */
const BACK_OFF_MS = [5_000, 30_000, 2 * 60_000, 10 * 60_000, 30 * 60_000];
/** A message that could not be sent for a day is of no use any more. */
const OUTDATED_MS = 24 * 3_600_000;
const SHORTEST_WAIT_MS = 1_000;
const AT_ONCE = 4;
const PAGE = 100;
/** A timer stands still while the machine sleeps. */
const LONGEST_SLEEP_MS = 60_000;

/**
 * Sends each message when it is due, a few at once, and tries again after failures. An attempt is stored before it begins, and its outcome
 * after it: after a crash in between, the message is sent once more.
 */
export function startDeliverer({ store, edges, log, channels }: DelivererParts): Deliverer {
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const later = (inMs: number) => {
    clearTimeout(timer);
    if (!stopping.signal.aborted) timer = setTimeout(worker.nudge, Math.max(1, inMs)).unref();
  };

  const worker = createNudgedWorker(sendDue, (error) => {
    log.error({ err: error }, 'messages about announcements not sent');
    later(LONGEST_SLEEP_MS);
  });

  async function sendDue(): Promise<void> {
    while (!stopping.signal.aborted) {
      const queued = await store.read.deliveries.listQueued(PAGE);
      const now = edges.now().toISOString();
      const due = queued.filter(({ dueAt }) => dueAt <= now);
      if (due.length === 0) {
        const next = queued[0];
        if (next !== undefined) later(Math.min(Date.parse(next.dueAt) - edges.now().getTime(), LONGEST_SLEEP_MS));
        return;
      }
      const rows = [...due];
      const sendNext = async (): Promise<void> => {
        for (let row = rows.shift(); row !== undefined; row = rows.shift()) await deliver(row);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, sendNext));
    }
  }

  async function deliver(row: DeliveryRecord): Promise<void> {
    if (stopping.signal.aborted) return;
    const channel = channels.find(({ name }) => name === row.channel);
    const begun = await begin(row);
    if (begun === null) return;
    const outcome: Outcome =
      channel === undefined
        ? { kind: 'dropped', error: `There is no channel ${row.channel} any more.` }
        : await channel
            .send({ announcement: begun, phase: row.phase, target: row.target }, stopping.signal)
            .catch((error: unknown): Outcome => {
              log.error({ err: error, channel: row.channel }, 'a channel failed');
              return { kind: 'failed', error: error instanceof Error ? error.message : String(error) };
            });
    if (stopping.signal.aborted && outcome.kind === 'failed') return;
    await settleAttempt(store, { row, outcome, tellsSettled: channel?.tellsSettled === true });
  }

  /** Stores that an attempt begins. Returns null if there is nothing to send any more. */
  function begin({ id, announcementKey, attempts }: DeliveryRecord): Promise<AnnouncementRecord | null> {
    return store.transact(
      async (tx) => {
        const row = (await tx.deliveries.listOf(announcementKey)).find((other) => other.id === id);
        const announcement = await tx.announcements.find(announcementKey);
        if (row?.state !== 'queued' || announcement === null) return null;
        await tx.deliveries.update(id, { attempts: attempts + 1 });
        return announcement;
      },
      { sync: 'later' },
    );
  }

  worker.nudge();
  return {
    nudge: worker.nudge,
    drain: worker.drain,
    stop() {
      stopping.abort();
      clearTimeout(timer);
      return worker.stop();
    },
  };
}

interface Attempt {
  row: DeliveryRecord;
  outcome: Outcome;
  tellsSettled: boolean;
}

/** Stores what became of an attempt. */
function settleAttempt(store: Store, { row, outcome, tellsSettled }: Attempt): Promise<void> {
  return store.transact(
    async (tx) => {
      const announcement = await tx.announcements.find(row.announcementKey);
      if (announcement === null) return;
      const isSettled = announcement.settledAt !== null && row.phase === 'announced';
      if (outcome.kind === 'sent') {
        await tx.deliveries.update(row.id, { state: 'sent', error: null });
        // It was settled while this was being sent: who was told hears that as well.
        if (isSettled && tellsSettled) await tx.deliveries.insert({ ...row, phase: 'settled', dueAt: tx.now });
      } else if (outcome.kind === 'dropped' || isSettled) {
        await tx.deliveries.update(row.id, {
          state: 'dropped',
          error: outcome.kind === 'postponed' ? null : outcome.error,
        });
      } else if (outcome.kind === 'postponed') {
        const dueMs = Math.max(outcome.until.getTime(), Date.parse(tx.now) + SHORTEST_WAIT_MS);
        await tx.deliveries.update(row.id, { attempts: row.attempts, dueAt: new Date(dueMs).toISOString() });
      } else await tx.deliveries.update(row.id, nextAttempt(row, outcome, announcement, Date.parse(tx.now)));
    },
    { sync: 'later' },
  );
}

/** When a failed message is sent again; it is dropped once it is outdated. */
function nextAttempt(
  { attempts }: DeliveryRecord,
  { error, afterMs = 0 }: Extract<Outcome, { kind: 'failed' }>,
  { madeAt, settledAt }: AnnouncementRecord,
  nowMs: number,
): Parameters<Store['read']['deliveries']['update']>[1] {
  const waitMs = Math.max(afterMs, BACK_OFF_MS[Math.min(attempts, BACK_OFF_MS.length - 1)] ?? 0);
  const dueMs = nowMs + waitMs;
  const isOutdated = dueMs - Date.parse(settledAt ?? madeAt) > OUTDATED_MS;
  return isOutdated ? { state: 'dropped', error } : { dueAt: new Date(dueMs).toISOString(), error };
}
