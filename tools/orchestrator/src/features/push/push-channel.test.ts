import { AlertSettings, DEFAULT_ALERTS } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { newBrowser } from '../../../test/support/new-browser.ts';
import { createTestBrowser } from '../../../test/support/push-service.ts';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { allow } from '../../../test/support/test-answers.ts';
import { asked, busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { createLogins } from '../../core/commands/logins.ts';
import { createPresence } from '../../core/session/notification-channel.ts';
import { startAnnouncer, startDeliverer } from '../notifications/notifications.ts';
import {
  createPushChannel,
  createPushDevices,
  forgetLoggedOut,
  loadPushKeys,
  type PushResult,
  type PushSender,
} from './push.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** Ada, logged in with a browser that is subscribed, and a busy session; a sender that the test plays. */
async function setUp(start?: number) {
  const clocks = setClocks(start);
  const test = await openTestStore(clocks.platform);
  const { store, platform } = test;
  const logins = await createLogins({ store, platform, ownerName: 'Ada', tokenSha256: '', publicUrl: null });
  const sent: Parameters<PushSender['send']>[1][] = [];
  let result: PushResult = { kind: 'taken' };
  const sender: PushSender = {
    async send(_, message) {
      sent.push(message);
      return result;
    },
  };
  const presence = createPresence(platform);
  const devices = createPushDevices({ store, platform, sender, publicKey: (await loadPushKeys(store)).publicKey });
  const logIn = async () => {
    const { secret } = await logins.redeem({ code: await logins.createCode(), ...newBrowser() });
    return logins.check({ kind: 'page', secret });
  };
  const login = await logIn();
  const { subscription } = createTestBrowser({ origin: 'https://push.example.com' });
  const device = await devices.add(login, subscription);
  const session = await busyTestSession({ title: 'Login form' }, test);
  const channels = [createPushChannel({ store, platform, presence, sender })];
  const deps = { store, log: silent, channels };
  /** Announces and sends, as a running Callboard does. */
  const work = async () => {
    const announcer = startAnnouncer({ ...deps, onQueued: () => undefined, lagMs: 0 });
    await announcer.drain();
    await announcer.stop();
    const deliverer = startDeliverer({ ...deps, platform });
    await deliverer.drain();
    await deliverer.stop();
  };
  const choose = (alerts: Partial<AlertSettings>) =>
    store.transact((tx) =>
      tx.people.saveSettings('Ada', {
        presentation: 'overlay',
        alerts: AlertSettings.parse({ ...DEFAULT_ALERTS, ...alerts }),
      }),
    );
  const answers = (next: PushResult) => {
    result = next;
  };
  return {
    ...clocks,
    store,
    logins,
    login,
    logIn,
    devices,
    device,
    subscription,
    presence,
    session,
    sent,
    work,
    choose,
    answers,
  };
}

it('pushes a request with no more than Deny, and replaces it once it is answered', async () => {
  const { session, sent, work } = await setUp();
  await session.emit(asked('r1'));
  await work();
  await work();
  const tag = `request ${session.stageId} r1`;
  const request = { stageId: session.stageId, requestId: 'r1' };
  expect(sent).toMatchObject([
    {
      tag,
      title: 'Login form: run this command?',
      body: 'make',
      signal: 'waiting',
      actions: 'deny',
      request,
      isSettled: false,
    },
  ]);
  await allow(session);
  await work();
  expect(sent.slice(1)).toMatchObject([
    { tag, title: 'Login form: allowed by Ada', actions: 'none', request: null, isSettled: true },
  ]);
});

it('offers Allow only to who chose that, and only with the whole input', async () => {
  const { session, sent, work, choose } = await setUp();
  await choose({ allowFromNotification: true });
  await session.emit(asked('r1'), asked('r2', { input: { command: `make ${'x'.repeat(300)}` } }));
  await work();
  expect(sent.map(({ actions }) => actions).toSorted()).toEqual(['allow-or-deny', 'deny']);
});

it('pushes nothing of a signal that is switched off', async () => {
  const { session, sent, work, choose } = await setUp();
  await choose({ waiting: { ...DEFAULT_ALERTS.waiting, notification: false } });
  await session.emit(asked('r1'));
  await work();
  expect(sent).toEqual([]);
});

it('waits for the end of quiet hours, and tells only what still matters then', async () => {
  const { session, sent, work, choose, pass } = await setUp(Date.parse('2026-01-02T23:00:00.000Z'));
  await choose({ quiet: { from: '22:00', to: '07:00', days: [5], timeZone: 'UTC' } });
  await session.emit(asked('r1'), asked('r2'));
  await work();
  await allow(session, 'r1');
  await work();
  expect(sent).toEqual([]);
  await pass(8 * 3_600_000);
  await work();
  expect(sent).toMatchObject([{ request: { requestId: 'r2' } }]);
});

it('tells nobody of a stage that they look at, and who has just left a minute later', async () => {
  const { session, sent, work, pass, presence } = await setUp();
  presence.notify('Ada', 'tab', session.stageId);
  await session.emit(asked('r1'));
  await work();
  expect(sent).toEqual([]);
  presence.notify('Ada', 'tab', null);
  await pass(60_000);
  await work();
  expect(sent).toMatchObject([{ request: { requestId: 'r1' } }]);
  presence.notify('Ada', 'tab', session.stageId);
  await session.emit(asked('r2'));
  await work();
  await pass(50_000);
  presence.notify('Ada', 'tab', session.stageId);
  await pass(11_000);
  await work();
  expect(sent).toHaveLength(1);
});

it('forgets a browser that has unsubscribed, and says why a device is not reached', async () => {
  const { session, work, devices, login, device, answers, pass } = await setUp();
  answers({ kind: 'refused', error: 'push.example.com could not be reached: no route.' });
  await session.emit(asked('r1'));
  await work();
  const { devices: own, current } = await devices.list(login);
  expect(own).toMatchObject([{ problem: { text: 'push.example.com could not be reached: no route.' }, sentAt: null }]);
  expect(current).toBe(device.deviceId);
  answers({ kind: 'gone' });
  await pass(5_000);
  await work();
  expect(await devices.list(login)).toMatchObject({ devices: [], current: null });
});

it('tests a device, and says why it failed', async () => {
  const { devices, login, device, answers, sent } = await setUp();
  expect(await devices.test(login, device.deviceId)).toMatchObject({ problem: null, sentAt: expect.any(String) });
  expect(sent).toMatchObject([{ tag: 'test', title: 'Callboard' }]);
  answers({ kind: 'refused', error: 'push.example.com did not answer in time.' });
  await expect(devices.test(login, device.deviceId)).rejects.toMatchObject({ code: 'push_failed' });
  answers({ kind: 'gone' });
  await expect(devices.test(login, device.deviceId)).rejects.toMatchObject({ code: 'unknown_device' });
});

it('keeps one subscription for each login, which ends with it, also while Callboard is stopped', async () => {
  const { devices, login, logIn, logins, subscription, store, session, sent, work } = await setUp();
  const again = await devices.add(login, { ...subscription, endpoint: 'https://push.example.com/send/2' });
  expect((await devices.list(login)).devices).toEqual([again]);
  const other = await logIn();
  await devices.add(other, { ...subscription, endpoint: 'https://push.example.com/send/3' });
  expect((await devices.list(other)).devices).toHaveLength(2);
  devices.stop(); // nobody hears that the login ends
  await logins.end(other.loginId ?? '', 'Ada');
  await session.emit(asked('r1'));
  await work();
  expect(sent).toHaveLength(1);
  expect((await devices.list(login)).devices).toEqual([expect.objectContaining({ deviceId: again.deviceId })]);
  await logins.end(login.loginId ?? '', 'Ada');
  await forgetLoggedOut(store);
  expect(await store.read.push.listDevices()).toEqual([]);
});

it('subscribes pages only, and lets nobody touch the devices of others', async () => {
  const { devices, device, subscription } = await setUp();
  const token = { actor: { name: 'API token' }, loginId: null, kind: 'token' } as const;
  await expect(devices.add(token, subscription)).rejects.toMatchObject({ code: 'page_only' });
  expect(await devices.list(token)).toMatchObject({ devices: [], current: null });
  await expect(devices.remove(token, device.deviceId)).rejects.toMatchObject({ code: 'unknown_device' });
  await expect(devices.test(token, device.deviceId)).rejects.toMatchObject({ code: 'unknown_device' });
});

it('makes its keys once', async () => {
  const { store } = await setUp();
  const keys = await loadPushKeys(store);
  expect(await loadPushKeys(store)).toEqual(keys);
  expect(Buffer.from(keys.publicKey, 'base64url')).toHaveLength(65);
  expect(Buffer.from(keys.privateKey, 'base64url')).toHaveLength(32);
});
