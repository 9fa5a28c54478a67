import { quietUntil, type StageId } from '@callboard/contract';
import type { Presence } from '../announcements/attendance.ts';
import type { Channel, Message, Outcome } from '../announcements/channel.ts';
import type { Platform } from '../lib/edges.ts';
import type { AnnouncementRecord, PushDeviceRecord } from '../store/announcement-records.ts';
import type { Store, Tables, Tx } from '../store/store.ts';
import { notificationOf, settledNotificationOf } from './notification-words.ts';
import type { PushSender } from './push-sender.ts';

export interface PushChannelDeps {
  store: Store;
  platform: Pick<Platform, 'now'>;
  presence: Presence;
  sender: PushSender;
}

/** Who looks at a stage is told after this time, unless they still look: they may just have left. */
const CHECKED_MS = 60_000;

/**
 * Pushes announcements to the devices of the people who want to be notified of that signal. Quiet hours and who looks are judged when a
 * message is due, so that a message that waits for the morning is sent only if it still matters.
 */
export function createPushChannel({ store, platform, presence, sender }: PushChannelDeps): Channel {
  async function targets(tx: Tx, { signal }: AnnouncementRecord): Promise<{ target: string; dueAt: string }[]> {
    const found: { target: string; dueAt: string }[] = [];
    for (const { deviceId, person } of await tx.push.listDevices()) {
      const { alerts } = await tx.people.find(person);
      if (alerts[signal].notification) found.push({ target: deviceId, dueAt: tx.now });
    }
    return found;
  }

  /** Why it is not to be sent now; null if it is. */
  async function delayed(announcement: AnnouncementRecord, { person }: PushDeviceRecord): Promise<Outcome | null> {
    const { alerts } = await store.read.people.find(person);
    const now = platform.now();
    if (!alerts[announcement.signal].notification) return { kind: 'dropped', error: 'It was switched off meanwhile.' };
    const until = quietUntil(alerts.quiet, now);
    if (until !== null) return { kind: 'postponed', until };
    if (!presence.isLooking(person, announcement.stageId)) return null;
    const notifiedAt = Date.parse(announcement.madeAt) + CHECKED_MS;
    if (now.getTime() < notifiedAt) return { kind: 'postponed', until: new Date(notifiedAt) };
    return { kind: 'dropped', error: 'The person was looking at the stage.' };
  }

  async function messageOf(announcement: AnnouncementRecord, phase: Message['phase'], person: string) {
    const { stageId, requestId } = announcement;
    const stage = await store.read.stages.find(stageId);
    const stored = requestId === null ? null : await store.read.requests.find(stageId, requestId);
    if (phase === 'settled') return settledNotificationOf(announcement, { stage, decision: stored?.decision ?? null });
    const request = stored?.decision === null ? stored.request : null;
    const { alerts: settings } = await store.read.people.find(person);
    return notificationOf(announcement, { stage, request, settings, because: await becauseOf(stageId) });
  }

  const becauseOf = async (stageId: StageId): Promise<string> =>
    (await store.read.sessions.find(stageId))?.lastTurn?.message ?? '';

  async function forget(deviceId: string): Promise<Outcome> {
    await store.transact((tx) => tx.push.removeDevice(deviceId));
    return { kind: 'dropped', error: 'The login of the device has ended.' };
  }

  return {
    name: 'push',
    tellsSettled: async () => true,
    targets,
    async send({ announcement, phase, target }, signal) {
      const device = await store.read.push.findDevice(target);
      if (device === null) return { kind: 'dropped', error: 'The device has unsubscribed.' };
      if (!(await isLoggedIn(store.read, device.loginId))) return forget(target);
      const held = phase === 'announced' ? await delayed(announcement, device) : null;
      if (held !== null) return held;
      const message = await messageOf(announcement, phase, device.person);
      const result = await sender.send(device, message, signal);
      if (signal.aborted && result.kind === 'refused') return { kind: 'failed', error: result.error };
      await store.transact((tx) => noteResult(tx, device.deviceId, result), { sync: 'later' });
      switch (result.kind) {
        case 'taken':
          return { kind: 'sent' };
        case 'gone':
          return { kind: 'failed', error: 'The browser has unsubscribed.', isFinal: true };
        case 'refused':
          return { ...result, kind: 'failed' };
        default:
          return result satisfies never;
      }
    },
  };
}

/** Whether the login that a device belongs to still stands. */
export async function isLoggedIn(tables: Pick<Tables, 'logins' | 'clock'>, loginId: string): Promise<boolean> {
  const login = await tables.logins.findById(loginId);
  if (login === null) return false;
  const instant = await tables.clock.livedUntil();
  return login.expiresAt === null || instant === null || login.expiresAt > instant;
}

/** Stores on the device what became of a message; a browser that has unsubscribed is forgotten. */
export async function noteResult(tx: Tx, deviceId: string, result: Awaited<ReturnType<PushSender['send']>>) {
  const device = await tx.push.findDevice(deviceId);
  if (device === null) return;
  if (result.kind === 'gone') return tx.push.removeDevice(deviceId);
  const problem = result.kind === 'refused' ? { at: tx.now, text: result.error } : null;
  const sentAt = problem === null ? tx.now : device.sentAt;
  await tx.push.saveDevice({ ...device, sentAt, problem });
}
