import { createECDH, hash } from 'node:crypto';
import {
  type CommandInput,
  type CommandReply,
  PushDevice,
  type PushMessage,
  type PushSubscriptionBody,
  quietUntil,
  type StageId,
} from '@callboard/contract';
import { type CommandHandlers, requireLogin } from '../../core/commands/command-handler.ts';
import type { Authenticated } from '../../core/commands/logins.ts';
import {
  type Channel,
  type Message,
  notificationOf,
  type Outcome,
  type Presence,
  settledNotificationOf,
} from '../../core/session/notification-channel.ts';
import { Rejection } from '../../lib/errors.ts';
import { untrustedText } from '../../lib/text.ts';
import { isPublicAddress, type Posted, post } from '../../platform/post.ts';
import type { Platform } from '../../platform/runtime.ts';
import type { AnnouncementRecord, PushDeviceRecord, PushKeys } from '../../store/ports/event-port.ts';
import { onEvents, type Store, type Tables, type Tx } from '../../store/store.ts';

export interface PushDeps {
  pushDevices: PushDevices;
}

type PushCommands = 'get_push_devices' | 'add_push_device' | 'remove_push_device' | 'test_push_device';

export const pushCommands = ({ pushDevices }: PushDeps): Pick<CommandHandlers, PushCommands> => ({
  get_push_devices: (_, { login }) => pushDevices.list(requireLogin(login)),
  add_push_device: async (body, { login }) => ({ device: await pushDevices.add(requireLogin(login), body) }),
  remove_push_device: async ({ deviceId }, { login }) => ({
    device: await pushDevices.remove(requireLogin(login), deviceId),
  }),
  test_push_device: async ({ deviceId }, { login }) => ({
    device: await pushDevices.test(requireLogin(login), deviceId),
  }),
});

/** The browsers that notifications are pushed to. People see and change their own only. */
export interface PushDevices {
  list(login: Authenticated): Promise<CommandReply<'get_push_devices'>>;
  /** Replaces an earlier subscription of that login. @throws Rejection `page_only` for an API token */
  add(login: Authenticated, body: CommandInput<'add_push_device'>): Promise<PushDevice>;
  /** @throws Rejection `unknown_device` */
  remove(login: Authenticated, deviceId: string): Promise<PushDevice>;
  /** Resolves when the push service has taken a test. @throws Rejection `unknown_device`; `push_failed` with the cause */
  test(login: Authenticated, deviceId: string): Promise<PushDevice>;
  /** Ends the waits of tests, and stops following logins. */
  stop(): void;
}

interface PushDevicesDeps {
  store: Store;
  platform: Pick<Platform, 'newId'>;
  sender: PushSender;
  publicKey: string;
}

/** Returns a new key pair. */
export function makeKeys(): PushKeys {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  const scalar = pair.getPrivateKey();
  const privateKey = Buffer.concat([Buffer.alloc(32 - scalar.length), scalar]); // Node leaves out leading zeros
  return { publicKey: pair.getPublicKey('base64url'), privateKey: privateKey.toString('base64url') };
}

/** Returns the key pair of this Callboard, made at the first call. All subscriptions are bound to it. */
export function loadPushKeys(store: Store): Promise<PushKeys> {
  return store.transact(async (tx) => {
    const saved = await tx.push.keys();
    if (saved !== null) return saved;
    const made = makeKeys();
    await tx.push.saveKeys(made);
    return made;
  });
}

export function createPushDevices({ store, platform, sender, publicKey }: PushDevicesDeps): PushDevices {
  const stopping = new AbortController();

  async function requireOwn({ actor }: Authenticated, deviceId: string): Promise<PushDeviceRecord> {
    const device = await store.read.push.findDevice(deviceId);
    if (device?.person === actor.name) return device;
    throw new Rejection('unknown_device', 'This device has no notifications any more. Turn them on again there.');
  }

  const unlisten = onEvents(store, ['login-ended'], ({ data: { loginId } }) => {
    // At the next start as well, should this fail: see `forgetLoggedOut`.
    store.transact((tx) => removeOf(tx, (device) => device.loginId === loginId)).catch(() => undefined);
  });

  return {
    async list({ actor, loginId }) {
      const own = (await store.read.push.listDevices()).filter(({ person }) => person === actor.name);
      const current = own.find((device) => device.loginId === loginId)?.deviceId ?? null;
      return { publicKey, devices: own.map((device) => PushDevice.parse(device)), current };
    },
    add: ({ actor, loginId }, subscription) =>
      store.transact(async (tx) => {
        const login = loginId === null ? null : await tx.logins.findById(loginId);
        if (loginId === null || login === null || login.page === null)
          throw new Rejection('page_only', 'Turn notifications on in the browser that is to show them.');
        await removeOf(tx, (device) => device.loginId === loginId);
        const device = {
          deviceId: platform.newId(),
          person: actor.name,
          loginId,
          subscription,
          createdAt: tx.now,
          browser: login.page.browser,
          origin: login.page.origin,
          sentAt: null,
          problem: null,
        };
        await tx.push.saveDevice(device);
        return PushDevice.parse(device);
      }),
    async remove(login, deviceId) {
      const device = await requireOwn(login, deviceId);
      await store.transact((tx) => tx.push.removeDevice(deviceId));
      return PushDevice.parse(device);
    },
    async test(login, deviceId) {
      const device = await requireOwn(login, deviceId);
      const result = await sender.send(device, TEST, stopping.signal);
      await store.transact((tx) => noteResult(tx, deviceId, result));
      if (result.kind === 'refused') throw new Rejection('push_failed', `The test was not sent. ${result.error}`);
      return PushDevice.parse(await requireOwn(login, deviceId));
    },
    stop() {
      unlisten();
      stopping.abort();
    },
  };
}

const TEST: PushMessage = {
  tag: 'test',
  title: 'Callboard',
  body: 'Notifications reach this device.',
  signal: 'finished',
  path: '/notifications',
  request: null,
  actions: 'none',
  isSettled: false,
};

async function removeOf(tx: Tx, isMeant: (device: PushDeviceRecord) => boolean): Promise<void> {
  for (const device of await tx.push.listDevices()) if (isMeant(device)) await tx.push.removeDevice(device.deviceId);
}

/** Forgets devices whose login has ended or expired. */
export const forgetLoggedOut = (store: Store): Promise<void> =>
  store.transact(async (tx) => {
    for (const { deviceId, loginId } of await tx.push.listDevices())
      if (!(await isLoggedIn(tx, loginId))) await tx.push.removeDevice(deviceId);
  });

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
async function isLoggedIn(tables: Pick<Tables, 'logins' | 'clock'>, loginId: string): Promise<boolean> {
  const login = await tables.logins.findById(loginId);
  if (login === null) return false;
  const instant = await tables.clock.livedUntil();
  return login.expiresAt === null || instant === null || login.expiresAt > instant;
}

/** Stores on the device what became of a message; a browser that has unsubscribed is forgotten. */
async function noteResult(tx: Tx, deviceId: string, result: Awaited<ReturnType<PushSender['send']>>) {
  const device = await tx.push.findDevice(deviceId);
  if (device === null) return;
  if (result.kind === 'gone') return tx.push.removeDevice(deviceId);
  const problem = result.kind === 'refused' ? { at: tx.now, text: result.error } : null;
  const sentAt = problem === null ? tx.now : device.sentAt;
  await tx.push.saveDevice({ ...device, sentAt, problem });
}

/** What a push service answered: `gone` if the browser has unsubscribed. `afterMs`: it wants no message before. */
export type PushResult = { kind: 'taken' } | { kind: 'gone' } | { kind: 'refused'; error: string; afterMs?: number };

/** Hands messages to the push services of browsers. */
export interface PushSender {
  /**
   * Resolves when the push service has answered, or could not be reached. Never rejects.
   */
  send(
    to: { subscription: PushSubscriptionBody; origin: string },
    message: PushMessage,
    signal: AbortSignal,
  ): Promise<PushResult>;
}

interface PushSenderDeps {
  keys: PushKeys;
  /** Which addresses may be connected to: those of the internet, but in tests. */
  mayConnect?: (address: string) => boolean;
  /** Certificates to trust, for tests. */
  ca?: string;
  timeLimitMs?: number;
}

const TIME_LIMIT_MS = 20_000;
/** For a browser that is off: a request of yesterday calls nobody. */
const TTL_SECONDS = 24 * 3_600;
const MAX_REPORTED = 300;
/** A page on this machine has no address that a push service could turn to. */
const NO_CONTACT = 'mailto:callboard@example.com';

export function createPushSender({
  keys,
  mayConnect = isPublicAddress,
  ca,
  timeLimitMs = TIME_LIMIT_MS,
}: PushSenderDeps): PushSender {
  const refuse = (address: string) => (mayConnect(address) ? null : NOT_PUBLIC);

  /** Encrypts and signs. Returns why that is impossible: a browser may have sent a key that is none. */
  async function seal({ subscription, origin }: Parameters<PushSender['send']>[0], message: PushMessage) {
    const subject = origin.startsWith('https://') ? origin : NO_CONTACT;
    // Loaded when it is first needed: most people push nothing.
    const { default: webPush } = await import('web-push');
    try {
      return webPush.generateRequestDetails(subscription, JSON.stringify(message), {
        vapidDetails: { subject, ...keys },
        TTL: TTL_SECONDS,
        contentEncoding: 'aes128gcm',
        urgency: message.signal === 'waiting' && !message.isSettled ? 'high' : 'normal',
        topic: hash('sha256', message.tag, 'base64url').slice(0, 32), // replaces what the service still holds
      });
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  return {
    async send({ subscription, origin }, message, signal) {
      const { endpoint } = subscription;
      const sealed = await seal({ subscription, origin }, message);
      if (sealed instanceof Error)
        return { kind: 'refused', error: `Nothing can be encrypted for it: ${sealed.message}.` };
      const { headers, body } = sealed;
      return resultOf(endpoint, await post({ url: endpoint, headers, body }, { refuse, timeLimitMs, ca }, signal));
    },
  };
}

const NOT_PUBLIC = 'its address is not on the internet, and Callboard sends nothing to machines of your own network';

function resultOf(endpoint: string, posted: Posted): PushResult {
  if (posted.kind === 'unreached') return { kind: 'refused', error: posted.error };
  const { status, text, afterMs } = posted;
  if (status >= 200 && status < 300) return { kind: 'taken' };
  if (status === 404 || status === 410) return { kind: 'gone' };
  const said = untrustedText(text, MAX_REPORTED);
  const error = `${new URL(endpoint).hostname} refused the message with status ${status}${said === '' ? '.' : `: ${said}`}`;
  return afterMs > 0 ? { kind: 'refused', error, afterMs } : { kind: 'refused', error };
}
