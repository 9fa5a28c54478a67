import { networkInterfaces } from 'node:os';
import { WebhookTarget } from '@callboard/contract';
import { expect, it } from 'vitest';
import { startReceiver } from '../../../test/support/receiver.ts';
import { createCaller, refuseReceiver } from './webhook-request.ts';
import { testEvent } from './webhooks.ts';

const now = new Date('2026-01-02T03:04:05.000Z');
const never = new AbortController().signal;
const SECRET = `whsec_${'A'.repeat(43)}=`;

async function setUp({ timeLimitMs = 5_000 } = {}) {
  const receiver = await startReceiver();
  const runCommand = () => Promise.reject(new Error('no command was set'));
  const caller = createCaller({ runCommand, timeLimitMs });
  const toTarget = (target: object, signal = never) =>
    caller.call(
      WebhookTarget.parse(target),
      { webhookId: 'w1', event: testEvent('1', now.toISOString(), null), receipt: null, now },
      signal,
    );
  const call = (fields: object, signal = never) =>
    toTarget({ form: 'webhook', url: `${receiver.url}/secret-path`, secret: SECRET, ...fields }, signal);
  return { receiver, call, toTarget };
}

it('calls this machine only if that was allowed', async () => {
  const { receiver, call } = await setUp();
  expect(await call({})).toMatchObject({ kind: 'refused', error: expect.stringContaining('the machine of Callboard') });
  const byName = receiver.url.replace('127.0.0.1', 'localhost');
  expect(await call({ url: byName })).toMatchObject({ kind: 'refused' });
  expect(receiver.received).toEqual([]);
  expect(await call({ allowsThisMachine: true })).toEqual({ kind: 'taken', receipt: null });
  expect(receiver.received).toHaveLength(1);
});

it.each([
  ['http://10.0.0.5', '10.0.0.5', null],
  ['http://nas.lan', '192.168.1.2', null],
  ['https://hooks.example.com', '8.8.8.8', null],
  ['http://hooks.example.com', '8.8.8.8', 'use an address with https'],
  ['http://hooks.example.com', '2607:f8b0::1', 'use an address with https'],
  ['http://hooks.example.com', '64:ff9b::808:808', 'use an address with https'],
  ['http://hooks.example.com', '64:ff9b::8.8.8.8', 'use an address with https'],
  ['http://hooks.example.com', '2002:808:808::1', 'use an address with https'],
  ['http://hooks.example.com', '::ffff:8.8.8.8', 'use an address with https'],
  ['http://nas.lan', '::ffff:192.168.1.2', null],
  ['http://nas.lan', 'fd12::2', null],
  ['https://hooks.example.com', '64:ff9b::808:808', null],
  ['https://x', '64:ff9b::a9fe:a9fe', 'no receiver'],
  ['https://x', '64:ff9b::7f00:1', 'the machine of Callboard'],
  ['http://board.lan', '192.168.1.9', 'the machine of Callboard'],
  ['https://board.lan', '::ffff:192.168.1.9', 'the machine of Callboard'],
  ['https://board.lan', '2607:f8b0:0::9', 'the machine of Callboard'],
  ['https://x', '169.254.169.254', 'no receiver'],
  ['https://x', 'fe80::1%eth0', 'no receiver'],
  ['https://x', '::ffff:169.254.169.254', 'no receiver'],
  ['https://x', '::1', 'the machine of Callboard'],
  ['https://x', '::ffff:127.0.0.1', 'the machine of Callboard'],
  ['https://x', '0.0.0.0', 'the machine of Callboard'],
])('judges %s at %s', (url, address, text) => {
  const refusal = refuseReceiver({ url, allowsThisMachine: false }, address, ['192.168.1.9', '2607:f8b0::9']);
  if (text === null) expect(refusal).toBeNull();
  else expect(refusal).toContain(text);
});

it('knows the addresses of this machine in its networks', () => {
  const own = Object.values(networkInterfaces()).flatMap((each = []) => each);
  const reachable = own.map(({ address }) => address).filter((address) => !/^(fe80|169\.254)/.test(address));
  expect(reachable).not.toEqual([]);
  for (const address of reachable) {
    expect(refuseReceiver({ url: 'https://x', allowsThisMachine: false }, address)).toContain('machine of Callboard');
    expect(refuseReceiver({ url: 'http://x', allowsThisMachine: true }, address)).toBeNull();
  }
});

it('follows no redirect', async () => {
  const { receiver, call } = await setUp();
  const other = await startReceiver();
  receiver.answer({ status: 307, headers: { location: other.url } });
  const called = await call({ allowsThisMachine: true });
  expect(called).toMatchObject({ kind: 'refused', error: expect.stringContaining('does not follow') });
  expect(other.received).toEqual([]);
});

it('ends when nobody answers in time, and when it is stopped', async () => {
  const { receiver, call } = await setUp({ timeLimitMs: 200 });
  receiver.answer(() => undefined);
  const error = '127.0.0.1 did not answer in time.';
  expect(await call({ allowsThisMachine: true })).toEqual({ kind: 'refused', error });
  expect(await call({ allowsThisMachine: true }, AbortSignal.abort())).toMatchObject({ kind: 'refused' });
});

it('reads no more of an answer than it needs', async () => {
  const { receiver, call } = await setUp();
  receiver.answer((response) => {
    response.writeHead(200);
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
    };
    response.on('drain', more);
    more(); // without an end
  });
  expect(await call({ allowsThisMachine: true })).toEqual({ kind: 'taken', receipt: null });
});

it('says why a receiver refused, without the secrets that it repeats', async () => {
  const { receiver, call, toTarget } = await setUp();
  receiver.answer({ status: 403, text: `no such hook: /secret-path ${SECRET}` });
  const called = await call({ allowsThisMachine: true });
  expect(called).toEqual({
    kind: 'refused',
    error: '127.0.0.1 refused the call with status 403: no such hook: … …',
    isFinal: false,
  });
  const token = '123456:abcdefghijklmnopqrstuvwxyz';
  const answer = { ok: false, description: `Unauthorized bot${token}`, parameters: { retry_after: 7 } };
  receiver.answer({ status: 429, text: JSON.stringify(answer) });
  const telegram = { form: 'telegram', token, chatId: '1', server: receiver.url, allowsThisMachine: true };
  expect(await toTarget(telegram)).toEqual({
    kind: 'refused',
    isFinal: false,
    afterMs: 7_000,
    error: '127.0.0.1 refused the call with status 429: Unauthorized bot…',
  });
});

it.each([
  [{ form: 'slack', url: '/services/T0/very-secret' }, '{"error":"no route \\/services\\/T0\\/very-secret"}'],
  [{ form: 'slack', url: '/services/T0/very-secret' }, 'very-secret is no hook'],
  [{ form: 'discord', url: '/hook?key=very-secret&a=b' }, 'the key very-secret has ended'],
  [{ form: 'webhook', url: '/very%2Dsecret' }, 'there is no very-secret'],
])('tells no part of the address of %o', async (target, text) => {
  const { receiver, toTarget } = await setUp();
  receiver.answer({ status: 404, text });
  const called = await toTarget({ ...target, url: `${receiver.url}${target.url}`, allowsThisMachine: true });
  expect(JSON.stringify(called)).toContain('…');
  expect(JSON.stringify(called)).not.toContain('very-secret');
});

it('shows the control characters of an answer as codes', async () => {
  const { receiver, call } = await setUp();
  receiver.answer({ status: 403, text: '\u001b[2Jgone \u202egnp.exe\r\nnext' });
  expect(await call({ allowsThisMachine: true })).toMatchObject({
    error: '127.0.0.1 refused the call with status 403: \u27e8\\x1b\u27e9[2Jgone \u27e8U+202E\u27e9gnp.exe\nnext',
  });
});

it('takes a message of Telegram that says already what it is changed to as changed', async () => {
  const { receiver, toTarget } = await setUp();
  const description = 'Bad Request: message is not modified: specified new message content is the same';
  receiver.answer({ status: 400, text: JSON.stringify({ ok: false, description }) }, { status: 400 });
  const token = '123456:abcdefghijklmnopqrstuvwxyz';
  const telegram = { form: 'telegram', token, chatId: '1', server: receiver.url, allowsThisMachine: true };
  expect(await toTarget(telegram)).toEqual({ kind: 'taken', receipt: null });
  expect(await toTarget(telegram)).toMatchObject({ kind: 'refused', isFinal: true });
});

it('names the host and nothing else of an address that cannot be reached', async () => {
  const { call } = await setUp();
  const called = await call({ url: 'http://127.0.0.1:1/secret-path', allowsThisMachine: true });
  expect(called).toMatchObject({ kind: 'refused', error: expect.stringContaining('127.0.0.1 could not be reached') });
  expect(JSON.stringify(called)).not.toContain('secret-path');
});
