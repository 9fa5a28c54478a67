import type { PushMessage } from '@callboard/contract';
import { expect, it } from 'vitest';
import {
  CERTIFICATE,
  createTestBrowser,
  readVapid,
  startPushService,
  topicOf,
} from '../../../test/support/push-service.ts';
import { createPushSender, makeKeys } from './push.ts';

const ORIGIN = 'https://callboard.example.com';
const MESSAGE: PushMessage = {
  tag: 'request STAGE-1 r1',
  title: 'Login form: run this command?',
  body: 'make — grün',
  signal: 'waiting',
  path: '/inbox',
  request: null,
  actions: 'deny',
  isSettled: false,
};
const keys = makeKeys();
const never = new AbortController().signal;

async function setUp({ timeLimitMs = 5_000 } = {}) {
  const service = await startPushService();
  const browser = createTestBrowser(service);
  const sender = createPushSender({ keys, mayConnect: () => true, ca: CERTIFICATE, timeLimitMs });
  const device = { subscription: browser.subscription, origin: ORIGIN };
  const send = (message = MESSAGE, signal = never) => sender.send(device, message, signal);
  return { service, browser, send };
}

it('hands over a message that only its browser can read, signed with the key it subscribed with', async () => {
  const { service, browser, send } = await setUp();
  expect(await send()).toEqual({ kind: 'taken' });
  const [received, ...others] = service.received;
  if (received === undefined) throw new Error('nothing was received');
  expect(others).toEqual([]);
  expect(browser.decrypt(received)).toEqual(MESSAGE);
  expect(received.body.includes('Login form')).toBe(false);
  expect(received.path).toBe('/send/1');
  expect(received.headers).toMatchObject({
    'content-encoding': 'aes128gcm',
    ttl: '86400',
    urgency: 'high',
    topic: topicOf(MESSAGE.tag),
  });
  const claims = readVapid(received);
  expect(claims).toMatchObject({ aud: service.origin, sub: ORIGIN, publicKey: keys.publicKey });
  expect(claims.exp * 1_000).toBeGreaterThan(Date.now());
});

it('replaces what it said about a request, without urgency once that is answered', async () => {
  const { service, send } = await setUp();
  await send();
  await send({ ...MESSAGE, isSettled: true });
  const [first, second] = service.received.map(({ headers }) => headers);
  expect(second?.topic).toBe(first?.topic);
  expect(second?.urgency).toBe('normal');
});

it.each([404, 410])('tells at status %i that the browser has unsubscribed', async (status) => {
  const { service, send } = await setUp();
  service.answer({ status });
  expect(await send()).toEqual({ kind: 'gone' });
});

it('tells why a push service refused, and when it may be asked again', async () => {
  const { service, send } = await setUp();
  service.answer({ status: 429, headers: { 'retry-after': '120' }, text: 'too many' }, { status: 500 });
  const error = 'localhost refused the message with status 429: too many';
  expect(await send()).toEqual({ kind: 'refused', error, afterMs: 120_000 });
  expect(await send()).toEqual({ kind: 'refused', error: 'localhost refused the message with status 500.' });
});

it('ends when it is stopped, when nobody answers in time, and when a certificate is not trusted', async () => {
  const { service, browser, send } = await setUp({ timeLimitMs: 300 });
  service.answer('nothing');
  const error = 'localhost did not answer in time.';
  expect(await send()).toEqual({ kind: 'refused', error });
  expect(await send(MESSAGE, AbortSignal.abort())).toMatchObject({ kind: 'refused' });
  const strict = createPushSender({ keys, mayConnect: () => true });
  const result = await strict.send({ subscription: browser.subscription, origin: ORIGIN }, MESSAGE, never);
  expect(result).toMatchObject({ kind: 'refused', error: expect.stringContaining('could not be reached') });
});

it.each(['https://localhost', 'https://127.0.0.1', 'https://[::1]', 'https://169.254.169.254'])(
  'sends nothing to %s, which is not on the internet',
  async (host) => {
    const service = await startPushService();
    const { port } = new URL(service.origin);
    const { subscription } = createTestBrowser({ origin: `${host}:${port}` });
    const result = await createPushSender({ keys, ca: CERTIFICATE }).send(
      { subscription, origin: ORIGIN },
      MESSAGE,
      never,
    );
    expect(result).toMatchObject({ kind: 'refused', error: expect.stringContaining('is not on the internet') });
    expect(service.received).toEqual([]);
  },
);

it('tells of a key that is none, instead of failing', async () => {
  const { service, browser } = await setUp();
  const wrong = { ...browser.subscription.keys, p256dh: 'A'.repeat(87) };
  const subscription = { ...browser.subscription, keys: wrong };
  const sender = createPushSender({ keys, mayConnect: () => true, ca: CERTIFICATE });
  expect(await sender.send({ subscription, origin: ORIGIN }, MESSAGE, never)).toMatchObject({ kind: 'refused' });
  expect(service.received).toEqual([]);
});
