import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { type PageServer, problem, startPageServer } from '../test/page-server.ts';
import { board } from '../test/samples.ts';
import { renewSubscription } from './worker-handlers.ts';

const device = {
  deviceId: 'device-1',
  loginId: 'login-1',
  browser: 'Firefox on Linux',
  createdAt: '2026-01-02T12:00:00.000Z',
  sentAt: null,
  problem: null,
};

function subscriptionTo(endpoint: string) {
  const keys = { p256dh: 'B'.repeat(87), auth: 'a'.repeat(22) };
  return { endpoint, toJSON: () => ({ endpoint, expirationTime: null, keys }), unsubscribe: vi.fn(async () => true) };
}
// The rest of a `PushSubscription` is the browser's own.
type Subscription = Awaited<ReturnType<PushManager['subscribe']>>;
const asPlatform = (made: ReturnType<typeof subscriptionTo>): Subscription => Object.assign(Object.create(null), made);

let server: PageServer;
beforeEach(() => {
  server = startPageServer(() => board({ stages: [] }));
  onTestFinished(() => server.close());
  server.answer({
    get_push_devices: () => ({ publicKey: 'BPublic', devices: [device], current: device.deviceId }),
    add_push_device: () => ({ device }),
  });
});
const reported = () => server.received.filter(({ command }) => command === 'add_push_device').map(({ input }) => input);

it('subscribes again with the key of Callboard, and tells it', async () => {
  const subscribe = vi.fn(async () => asPlatform(subscriptionTo('https://push.example.com/send/2')));
  expect(await renewSubscription(null, { subscribe })).toBeNull();
  expect(subscribe).toHaveBeenCalledWith({ userVisibleOnly: true, applicationServerKey: 'BPublic' });
  expect(reported()).toMatchObject([{ endpoint: 'https://push.example.com/send/2' }]);
});

it('tells of the subscription that the browser has made itself', async () => {
  const subscribe = vi.fn(() => Promise.reject(new Error('It is subscribed.')));
  expect(await renewSubscription(asPlatform(subscriptionTo('https://push.example.com/3')), { subscribe })).toBeNull();
  expect(subscribe).not.toHaveBeenCalled();
  expect(reported()).toMatchObject([{ endpoint: 'https://push.example.com/3' }]);
});

it('says that notifications have ended where it cannot subscribe, or Callboard refuses', async () => {
  const ended = { path: '/notifications', request: null, actions: 'none', isSettled: false };
  const subscribe = vi.fn(() => Promise.reject(new Error('The push service is away.')));
  const body = 'The browser has ended them. Open Callboard to turn them on again.';
  expect(await renewSubscription(null, { subscribe })).toMatchObject({ ...ended, body });
  server.answer({ add_push_device: () => problem('not_logged_in', 'This login has ended.') });
  const made = subscriptionTo('https://push.example.com/send/4');
  const refused = { ...ended, body: expect.stringContaining('Callboard refused: This login has ended. Open') };
  expect(await renewSubscription(asPlatform(made), { subscribe })).toMatchObject(refused);
  expect(made.unsubscribe).toHaveBeenCalledOnce(); // so the page shows that they are off
  server.answer({ add_push_device: () => problem('too_many_requests', 'Wait a minute.') });
  const away = { ...ended, body: expect.stringContaining('Callboard did not answer.') };
  expect(await renewSubscription(asPlatform(made), { subscribe })).toMatchObject(away);
});

it('subscribes nobody who has notifications off, whoever was logged in here before', async () => {
  server.answer({ get_push_devices: () => ({ publicKey: 'BPublic', devices: [], current: null }) });
  const off = { actions: 'none', body: expect.stringContaining('They are off for the login of this browser.') };
  const subscribe = vi.fn(async () => asPlatform(subscriptionTo('https://push.example.com/send/5')));
  expect(await renewSubscription(null, { subscribe })).toMatchObject(off);
  expect(subscribe).not.toHaveBeenCalled();
  const made = subscriptionTo('https://push.example.com/send/6');
  expect(await renewSubscription(asPlatform(made), { subscribe })).toMatchObject(off);
  expect(made.unsubscribe).toHaveBeenCalledOnce();
  expect(reported()).toEqual([]);
});
