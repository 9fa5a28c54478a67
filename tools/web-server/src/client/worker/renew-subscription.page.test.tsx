import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { type PageServer, problem, startPageServer } from '../test/page-server.ts';
import { board } from '../test/samples.ts';
import { renewSubscription } from './renew-subscription.ts';

const device = {
  ...{ deviceId: 'device-1', loginId: 'login-1', browser: 'Firefox on Linux' },
  ...{ createdAt: '2026-01-02T12:00:00.000Z', sentAt: null, problem: null },
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
const told = () => server.received.filter(({ command }) => command === 'add_push_device').map(({ input }) => input);

it('subscribes again with the key of Callboard, and tells it', async () => {
  const subscribe = vi.fn(async () => asPlatform(subscriptionTo('https://push.example.com/send/2')));
  expect(await renewSubscription(null, { subscribe })).toBeNull();
  expect(subscribe).toHaveBeenCalledWith({ userVisibleOnly: true, applicationServerKey: 'BPublic' });
  expect(told()).toMatchObject([{ endpoint: 'https://push.example.com/send/2' }]);
});

it('tells of the subscription that the browser has made itself', async () => {
  const subscribe = vi.fn(() => Promise.reject(new Error('It is subscribed.')));
  expect(await renewSubscription(asPlatform(subscriptionTo('https://push.example.com/3')), { subscribe })).toBeNull();
  expect(subscribe).not.toHaveBeenCalled();
  expect(told()).toMatchObject([{ endpoint: 'https://push.example.com/3' }]);
});

it('says that notifications have ended where it cannot subscribe, or Callboard refuses', async () => {
  const ended = { path: '/notifications', request: null, actions: 'none', isSettled: false };
  const subscribe = vi.fn(() => Promise.reject(new Error('The push service is away.')));
  expect(await renewSubscription(null, { subscribe })).toMatchObject(ended);
  server.answer({ add_push_device: () => problem('not_logged_in', 'This login has ended.') });
  const made = subscriptionTo('https://push.example.com/send/4');
  expect(await renewSubscription(asPlatform(made), { subscribe })).toMatchObject(ended);
  expect(made.unsubscribe).toHaveBeenCalledOnce(); // so the page shows that they are off
});
