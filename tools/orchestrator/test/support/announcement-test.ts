import { onTestFinished } from 'vitest';
import type { Channel, Message, Outcome } from '../../src/core/session/notification-channel.ts';
import { startAnnouncer, startDeliverer } from '../../src/features/notifications/notifications.ts';
import { setClocks } from './set-clocks.ts';
import { busyTestSession } from './test-session.ts';
import { openTestStore, silent } from './test-store.ts';

export const SENT: Outcome = { kind: 'sent' };
export const failed = (afterMs?: number): Outcome => ({
  kind: 'failed',
  error: 'no route',
  ...(afterMs && { afterMs }),
});
/** Ends only when it is stopped, after the test. */
export const never = (_: Message, signal: AbortSignal) =>
  new Promise<Outcome>((resolve) => signal.addEventListener('abort', () => resolve(failed())));

/** A store with a busy session, and a channel whose outcomes the test decides. */
export async function announcementTest(notifiesSettled = true) {
  const clocks = setClocks();
  const test = await openTestStore(clocks.platform);
  const session = await busyTestSession({}, test);
  const { store } = test;
  const told: string[] = [];
  let next: (message: Message, signal: AbortSignal) => Outcome | Promise<Outcome> = () => SENT;
  const channel: Channel = {
    name: 'test',
    tellsSettled: async () => notifiesSettled,
    targets: async (tx) => [{ target: 'Ada', dueAt: tx.now }],
    async send(message, signal) {
      told.push(`${message.phase} ${message.announcement.signal} to ${message.target}`);
      return next(message, signal);
    },
  };
  const channels = [channel];
  const announcer = (given: Partial<Parameters<typeof startAnnouncer>[0]> = {}) =>
    startAnnouncer({ store, log: silent, channels, onQueued: () => undefined, lagMs: 0, ...given });
  /** Compares and stores, as a start does. */
  const announce = async () => {
    const started = announcer();
    await started.drain();
    await started.stop();
  };
  const deliverer = (leads?: () => Promise<boolean>) => {
    const started = startDeliverer({ store, platform: clocks.platform, log: silent, channels, leads });
    onTestFinished(started.stop);
    return started;
  };
  const deliver = async () => {
    const started = deliverer();
    await started.drain();
    await started.stop();
  };
  const rows = async () => {
    const { stageId } = session;
    const key = `request ${stageId} r1`;
    return (await store.read.deliveries.listOf(key)).map((row) => `${row.phase} ${row.state}`);
  };
  const outcome = (result: typeof next) => {
    next = result;
  };
  return { ...clocks, store, session, channels, told, announcer, announce, deliverer, deliver, rows, outcome };
}
