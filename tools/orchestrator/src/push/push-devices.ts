import { createECDH } from 'node:crypto';
import { type CommandInput, type CommandReply, PushDevice, type PushMessage } from '@callboard/contract';
import type { Authenticated } from '../auth/logins.ts';
import type { Platform } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import type { PushDeviceRecord, PushKeys } from '../store/announcement-records.ts';
import type { Store, Tx } from '../store/store.ts';
import { isLoggedIn, noteResult } from './push-channel.ts';
import type { PushSender } from './push-sender.ts';

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

  const unlisten = store.onEvent((event) => {
    if (event.type !== 'login-ended') return;
    const { loginId } = event.data;
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
