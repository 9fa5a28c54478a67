import {
  type Announcement,
  announcementsOf,
  awaitsTasks,
  type BoardEvent,
  boardView,
  mayPass,
  type StageId,
  UNREAD_MS,
} from '@callboard/contract';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { Channel, Message, Outcome } from '../../core/session/notification-channel.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { AnnouncementRecord, DeliveryRecord } from '../../store/ports/event-port.ts';
import type { Store, Tables, Tx } from '../../store/store.ts';

/** Keeps the stored announcements equal to what the board says. */
export interface Announcer {
  /** Resolves when all changes so far are stored. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

interface AnnouncerDeps {
  store: Pick<Store, 'read' | 'board' | 'boardOf' | 'transact' | 'onEvent'>;
  log: Logger;
  channels: readonly Channel[];
  /** Called after messages were stored. */
  onQueued: () => void;
  /** How long changes wait for others, and for more urgent work. */
  lagMs: number;
  /**
   * Tells of the events of all machines, if several share the store. `store` tells of those of this one then, which announces its own stages
   * first: what others have not announced after a while, such as one that is lost, this one does.
   */
  onOthers?: Store['onEvent'] | undefined;
}

/** So many times as long changes in stages of other machines wait. */
const OTHERS_LAG = 25;

/**
 * Compares the board with the stored announcements: now, and after each change that can matter. What is new is stored with a message for
 * each target, in one transaction; what is gone is settled. Since it compares states, a crash between a change and its announcement loses
 * nothing: the next start finds the difference.
 */
export function startAnnouncer({ store, log, channels, onQueued, lagMs, onOthers }: AnnouncerDeps): Announcer {
  const changed = new Set<StageId>();
  const changedElsewhere = new Set<StageId>();
  let timer: NodeJS.Timeout | undefined;
  let isFirst = true;

  async function work(): Promise<void> {
    if (isFirst) {
      const stands = announcementsOf(boardView(await store.board()));
      await reconcile(stands, await store.read.announcements.listOpen(), undefined);
      isFirst = false;
    }
    for (const stageId of [...changed]) {
      changed.delete(stageId);
      changedElsewhere.delete(stageId);
      try {
        const view = boardView(await store.boardOf(stageId));
        const isThere = view.stages.some(({ id }) => id === stageId);
        const own = announcementsOf(view).filter((one) => isThere && one.stageId === stageId);
        await reconcile(own, await store.read.announcements.listOpen(stageId), stageId);
      } catch (error) {
        changed.add(stageId);
        throw error;
      }
    }
  }

  async function reconcile(
    stands: readonly Announcement[],
    stored: readonly AnnouncementRecord[],
    stage: StageId | undefined,
  ): Promise<void> {
    const keys = new Set(stands.map(({ key }) => key));
    const known = new Set(stored.map(({ key }) => key));
    const fresh = stands.filter(({ key }) => !known.has(key));
    const gone = stored.filter(({ key }) => !keys.has(key));
    if (fresh.length === 0 && gone.length === 0) return;
    await store.transact(
      async (tx) => {
        for (const one of gone) await settle(tx, channels, one.key);
        for (const one of fresh) await announce(tx, channels, { ...one, madeAt: tx.now, settledAt: null });
        tx.afterCommit(onQueued);
      },
      { sync: 'later', ...(stage !== undefined && { stage }) },
    );
  }

  const worker = createReconciler(work, (error) => {
    log.error({ err: error }, 'announcements not stored');
    worker.scheduleIn(RETRY_MS);
  });
  function follow(onEvent: Store['onEvent'], note: (stageId: StageId) => void): () => void {
    const seen = new Map<string, string>();
    return onEvent((event) => {
      const stageId = stageOf(event, seen);
      if (stageId !== null) note(stageId);
    });
  }
  const unlisten = follow(store.onEvent, (stageId) => {
    changed.add(stageId);
    worker.scheduleIn(lagMs);
  });
  const unlistenOthers =
    onOthers &&
    follow(onOthers, (stageId) => {
      if (!changed.has(stageId)) changedElsewhere.add(stageId);
      timer ??= setTimeout(lookAtOthers, OTHERS_LAG * lagMs).unref();
    });

  function lookAtOthers(): void {
    timer = undefined;
    for (const stageId of changedElsewhere) changed.add(stageId);
    worker.schedule();
  }

  worker.scheduleIn(0);
  return {
    drain() {
      worker.schedule();
      return worker.drain();
    },
    stop() {
      unlisten();
      unlistenOthers?.();
      clearTimeout(timer);
      return worker.stop();
    },
  };
}

const RETRY_MS = 5_000;

/** A stage that has been finished for longer is no news: it was told of by an earlier release, or by nobody. */
const OUTDATED_MS = 24 * 3_600_000;

/** In either direction: a time of day that was set back makes nothing news again. */
const isOutdated = ({ signal, since, madeAt }: AnnouncementRecord): boolean =>
  signal === 'finished' && Math.abs(Date.parse(madeAt) - Date.parse(since)) > OUTDATED_MS;

async function announce(tx: Tx, channels: readonly Channel[], announcement: AnnouncementRecord): Promise<void> {
  // It may have been told, settled and forgotten long ago: it is not even stored.
  if (isOutdated(announcement) || !(await tx.announcements.insert(announcement))) return;
  const { stageId, requestId, madeAt } = announcement;
  const stored = requestId === null ? null : await tx.requests.find(stageId, requestId);
  const waitMs = stored !== null && mayPass(stored.request) ? UNREAD_MS : 0;
  const notBefore = (at: string) => new Date(Math.max(Date.parse(at), Date.parse(madeAt) + waitMs)).toISOString();
  for (const channel of channels) {
    for (const { target, dueAt } of await channel.targets(tx, announcement)) {
      const row = { announcementKey: announcement.key, channel: channel.name, target, phase: 'announced' } as const;
      await tx.deliveries.insert({ ...row, dueAt: notBefore(dueAt) });
    }
  }
}

/** Drops what was not told yet, and tells that it is settled to those who were, or may have been, told. */
async function settle(tx: Tx, channels: readonly Channel[], key: string): Promise<void> {
  // Settled since it was read, and silently: see `settleCompleted`.
  if ((await tx.announcements.find(key))?.settledAt !== null) return;
  await tx.announcements.settle(key, tx.now);
  for (const delivery of await tx.deliveries.listOf(key)) {
    if (delivery.state === 'queued') await tx.deliveries.update(delivery.id, { state: 'dropped' });
    const wasNotified = delivery.state === 'sent' || (delivery.state === 'queued' && delivery.attempts > 0);
    const channel = channels.find(({ name }) => name === delivery.channel);
    if (wasNotified && (await channel?.tellsSettled(tx, delivery.target)))
      await tx.deliveries.insert({ ...delivery, phase: 'settled', dueAt: tx.now });
  }
}

/**
 * Settles, without telling anybody, what was announced before an instant of stages that are completed. Callboard merges a stage without a
 * person: that stays true until somebody deletes the stage, and months later it is no news that it does not any more.
 */
export async function settleCompleted(tx: Tx, madeBefore: string): Promise<void> {
  for (const { key, signal, stageId, madeAt } of await tx.announcements.listOpen()) {
    if (signal !== 'finished' || madeAt >= madeBefore) continue;
    const stage = await tx.stages.find(stageId);
    if (stage === null || stage.completedAt === null) continue;
    // Who is told later also hears later that it is settled.
    const wasReported = (await tx.deliveries.listOf(key)).every(({ state }) => state !== 'queued');
    if (wasReported) await tx.announcements.settle(key, tx.now);
  }
}

/**
 * Returns the stage whose announcements an event can change; null for none. Sessions tell of themselves many times in a turn, so theirs count
 * only when something changes that announcements depend on.
 */
function stageOf(event: BoardEvent, seen: Map<string, string>): StageId | null {
  switch (event.type) {
    case 'session-updated': {
      const { stageId, state, lastTurn, atGate, stalledSince, alarm, openDenial, check, review, terminal } = event.data;
      const facts = [lastTurn?.at, atGate, stalledSince, alarm?.at, openDenial !== null, check?.since, review?.since];
      const sign = JSON.stringify([state, terminal !== null, awaitsTasks(event.data), ...facts]);
      if (seen.get(stageId) === sign) return null;
      seen.set(stageId, sign);
      return stageId;
    }
    case 'stage-removed':
      seen.delete(event.data.stageId);
      return event.data.stageId;
    case 'stage-created':
    case 'stage-updated':
    case 'decision-updated':
    case 'approval-resolved':
    case 'approval-cancelled':
      return event.data.stageId;
    default:
      return event.type.endsWith('-requested') && 'stageId' in event.data ? event.data.stageId : null;
  }
}

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
  const worker = createReconciler(
    sendDue,
    (error) => {
      log.error({ err: error }, 'messages about announcements not sent');
      worker.scheduleIn(MAX_SLEEP_MS);
    },
    // Others store messages as well, and the one that sent them may be gone.
    { everyMs: leads === undefined ? undefined : LEAD_CHECK_INTERVAL_MS },
  );
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
      if (row.dueAt > now.toISOString())
        return worker.scheduleIn(Math.min(Date.parse(row.dueAt) - now.getTime(), MAX_SLEEP_MS));
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
    worker.scheduleIn(MAX_SLEEP_MS);
  }

  async function drain(): Promise<void> {
    await worker.drain();
    while (underway.size > 0) {
      await Promise.all(underway.values());
      await worker.drain();
    }
  }

  worker.schedule();
  return {
    schedule: worker.schedule,
    drain,
    async stop() {
      stopping.abort();
      await worker.stop();
      await Promise.all(underway.values());
    },
  };
}

/** Waits between attempts: the last one repeats until the message is outdated. */
const BACK_OFF_MS = [5_000, 30_000, 2 * 60_000, 10 * 60_000, 30 * 60_000];

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
function createAttempts(
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
