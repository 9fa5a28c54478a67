import {
  type Announcement,
  announcementsOf,
  awaitsTasks,
  type BoardEvent,
  boardView,
  type StageId,
} from '@callboard/contract';
import type { Logger } from '../lib/logger.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';
import type { AnnouncementRecord } from '../store/announcement-records.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Channel } from './channel.ts';

/** Keeps the stored announcements equal to what the board says. */
export interface Announcer {
  /** Resolves when all changes so far are stored. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

interface AnnouncerDeps {
  store: Store;
  log: Logger;
  channels: readonly Channel[];
  /** Called after messages were stored. */
  onQueued: () => void;
  /** How long changes wait for others, and for more urgent work. */
  lagMs: number;
}

/**
 * Compares the board with the stored announcements: now, and after each change that can matter. What is new is stored with a message for
 * each target, in one transaction; what is gone is settled. Since it compares states, a crash between a change and its announcement loses
 * nothing: the next start finds the difference.
 */
export function startAnnouncer({ store, log, channels, onQueued, lagMs }: AnnouncerDeps): Announcer {
  const changed = new Set<StageId>();
  const seen = new Map<string, string>();
  let isFirst = true;
  let timer: NodeJS.Timeout | undefined;

  async function work(): Promise<void> {
    if (isFirst) {
      const stands = announcementsOf(boardView(await store.board()));
      await reconcile(stands, await store.read.announcements.listOpen());
      isFirst = false;
    }
    for (const stageId of [...changed]) {
      changed.delete(stageId);
      try {
        const view = boardView(await store.boardOf(stageId));
        const isThere = view.stages.some(({ id }) => id === stageId);
        const own = announcementsOf(view).filter((one) => isThere && one.stageId === stageId);
        await reconcile(own, await store.read.announcements.listOpen(stageId));
      } catch (error) {
        changed.add(stageId);
        throw error;
      }
    }
  }

  async function reconcile(stands: readonly Announcement[], stored: readonly AnnouncementRecord[]): Promise<void> {
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
      { sync: 'later' },
    );
  }

  const worker = createCoalescingWorker(work, (error) => {
    log.error({ err: error }, 'announcements not stored');
    plan(RETRY_MS);
  });

  function plan(inMs: number): void {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      worker.schedule();
    }, inMs).unref();
  }

  const unlisten = store.onEvent((event) => {
    const stageId = stageOf(event, seen);
    if (stageId === null) return;
    changed.add(stageId);
    plan(lagMs);
  });
  plan(0);
  return {
    async drain() {
      clearTimeout(timer);
      timer = undefined;
      worker.schedule();
      await worker.drain();
    },
    stop() {
      unlisten();
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
  for (const channel of channels) {
    for (const { target, dueAt } of await channel.targets(tx, announcement)) {
      const row = { announcementKey: announcement.key, channel: channel.name, target, phase: 'announced' } as const;
      await tx.deliveries.insert({ ...row, dueAt });
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
