import type { Logger } from '../lib/logger.ts';
import type { AnnouncementRecord, DeliveryRecord } from '../store/announcement-records.ts';
import type { Store, Tables } from '../store/store.ts';
import type { Channel, Message, Outcome } from './channel.ts';

/** Waits between attempts: the last one repeats until the message is outdated. */
const BACK_OFF_MS = [5_000, 30_000, 2 * 60_000, 10 * 60_000, 30 * 60_000];
/** A message that could not be sent for a day is of no use any more. */
const OUTDATED_MS = 24 * 3_600_000;
const SHORTEST_WAIT_MS = 1_000;

interface AttemptDeps {
  store: Store;
  log: Logger;
  channels: readonly Channel[];
  /** As `DelivererDeps.leads`. */
  leads?: ((tables: Pick<Tables, 'machines'>) => Promise<boolean>) | undefined;
}

/**
 * Returns a function that tries to send one message. It stores that the attempt begins, sends, and stores what became of it: after a crash
 * in between, the message is sent once more.
 * @returns a function that throws only if the store does
 */
export function createAttempts(
  { store, log, channels, leads }: AttemptDeps,
  signal: AbortSignal,
): (row: DeliveryRecord) => Promise<void> {
  async function attempt(row: DeliveryRecord): Promise<void> {
    if (signal.aborted) return;
    const channel = channels.find(({ name }) => name === row.channel);
    const begun = await begin(row);
    if (begun === null) return;
    const outcome: Outcome =
      channel === undefined
        ? { kind: 'dropped', error: `There is no channel ${row.channel} any more.` }
        : await channel
            .send({ ...begun, phase: row.phase, target: row.target }, signal)
            .catch((error: unknown): Outcome => {
              log.error({ err: error, channel: row.channel }, 'a channel failed');
              return { kind: 'failed', error: error instanceof Error ? error.message : String(error) };
            });
    if (signal.aborted && outcome.kind === 'failed' && outcome.isFinal !== true) return;
    await settleAttempt(store, { row, outcome, channel, wasOpen: begun.announcement.settledAt === null });
  }

  /** Stores that an attempt begins. Returns null if there is nothing to send any more. */
  function begin({ id, announcementKey, attempts, dueAt }: DeliveryRecord): Promise<Begun | null> {
    return store.transact(
      async (tx) => {
        if (leads !== undefined && !(await leads(tx))) return null;
        const rows = await tx.deliveries.listOf(announcementKey);
        const row = rows.find((other) => other.id === id);
        const announcement = await tx.announcements.find(announcementKey);
        // Another attempt may have ended after the row was read.
        if (row?.state !== 'queued' || row.dueAt !== dueAt || announcement === null) return null;
        await tx.deliveries.update(id, { attempts: attempts + 1, triedAt: tx.now });
        const before = rows.find(({ channel, target, phase }) => {
          return channel === row.channel && target === row.target && phase === 'announced';
        });
        return { announcement, receipt: row.phase === 'settled' ? (before?.receipt ?? null) : null };
      },
      { sync: 'later' },
    );
  }

  return attempt;
}

type Begun = Pick<Message, 'announcement' | 'receipt'>;

interface Attempt {
  row: DeliveryRecord;
  outcome: Outcome;
  /** Whether it stood when the attempt began: else the message itself said that it is settled. */
  wasOpen: boolean;
  /** Undefined if there is no such channel any more. */
  channel: Channel | undefined;
}

/** Stores what became of an attempt. */
function settleAttempt(store: Store, { row, outcome, channel, wasOpen }: Attempt): Promise<void> {
  return store.transact(
    async (tx) => {
      const announcement = await tx.announcements.find(row.announcementKey);
      if (announcement === null) return;
      const isSettled = announcement.settledAt !== null && row.phase === 'announced';
      if (outcome.kind === 'sent') {
        await tx.deliveries.update(row.id, { state: 'sent', error: null, receipt: outcome.receipt ?? null });
        // It was settled while this was being sent: who was told hears that as well.
        if (isSettled && wasOpen && (await channel?.tellsSettled(tx, row.target)))
          await tx.deliveries.insert({ ...row, phase: 'settled', dueAt: tx.now });
      } else if (outcome.kind === 'dropped') {
        await tx.deliveries.update(row.id, { ...untried(row), state: 'dropped', error: outcome.error });
      } else if (outcome.kind === 'postponed') {
        const dueMs = Math.max(outcome.until.getTime(), Date.parse(tx.now) + SHORTEST_WAIT_MS);
        const next = isSettled ? { state: 'dropped' as const } : { dueAt: new Date(dueMs).toISOString() };
        await tx.deliveries.update(row.id, { ...untried(row), ...next });
      } else if (outcome.isFinal === true || isSettled) {
        await tx.deliveries.update(row.id, { state: 'dropped', error: outcome.error });
      } else await tx.deliveries.update(row.id, nextAttempt(row, outcome, announcement, Date.parse(tx.now)));
    },
    { sync: 'later' },
  );
}

/** Nothing was sent, so that attempt does not count. */
const untried = ({ attempts, triedAt }: DeliveryRecord) => ({ attempts, triedAt });

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
