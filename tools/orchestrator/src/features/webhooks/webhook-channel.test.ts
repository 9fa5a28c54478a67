import { createHmac } from 'node:crypto';
import { NewWebhook, type ProjectId, WebhookEvent, type WebhookTarget } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { type Receiver, startReceiver } from '../../../test/support/receiver.ts';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { allow } from '../../../test/support/test-answers.ts';
import { asked, busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { notificationOf, settledNotificationOf } from '../../core/session/notification-channel.ts';
import { startAnnouncer, startDeliverer } from '../notifications/notifications.ts';
import { createCaller } from './webhook-request.ts';
import { createWebhookChannel, createWebhooks } from './webhooks.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const ADA = { actor: { name: 'Ada' }, loginId: 'login-1', kind: 'page' } as const;
const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const PUBLIC_URL = 'https://board.example.com';

/** A store with a busy session, the real channel and caller, and a receiver on this machine. */
async function setUp() {
  const clocks = setClocks();
  const test = await openTestStore(clocks.platform);
  const { store, platform } = test;
  const receiver = await startReceiver();
  const session = await busyTestSession({ title: 'Login <form>' }, test);
  const runCommand = () => Promise.reject(new Error('no command was set'));
  const caller = createCaller({ runCommand, timeLimitMs: 2_000 });
  const text = { announced: notificationOf, settled: settledNotificationOf };
  const channel = createWebhookChannel({ store, platform, caller, text, publicUrl: PUBLIC_URL });
  const channels = [channel];
  const webhooks = createWebhooks({ store, platform, caller, publicUrl: PUBLIC_URL, onQueued: () => undefined });
  const announce = async () => {
    const announcer = startAnnouncer({ store, log: silent, channels, onQueued: () => undefined, lagMs: 0 });
    await announcer.drain();
    await announcer.stop();
  };
  const deliverer = () => {
    const started = startDeliverer({ store, platform, log: silent, channels });
    onTestFinished(started.stop);
    return started;
  };
  const deliver = async () => {
    const started = deliverer();
    await started.drain();
    await started.stop();
  };
  const work = async () => {
    await announce();
    await deliver();
  };
  const add = async (fields: Partial<NewWebhook> = {}, target = toReceiver(receiver)) => {
    const { webhook } = await webhooks.add(ADA, NewWebhook.parse({ name: 'On call', target, ...fields }));
    return webhook.webhookId;
  };
  return { ...clocks, store, receiver, session, webhooks, announce, deliverer, deliver, work, add };
}

const toReceiver = ({ url }: Receiver): WebhookTarget => ({
  form: 'webhook',
  url: `${url}/hook`,
  secret: SECRET,
  allowsThisMachine: true,
});

const eventsOf = ({ received }: Receiver) => received.map(({ body }) => WebhookEvent.parse(JSON.parse(body)));

it('calls with a signed event, and again once it is answered', async () => {
  const { session, receiver, work, add, platform } = await setUp();
  await add();
  await session.emit(asked('r1'));
  await work();
  await work();
  const [call, ...others] = receiver.received;
  if (call === undefined) throw new Error('nothing was received');
  expect(others).toEqual([]);
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = call.headers;
  expect(Number(timestamp)).toBe(Math.floor(platform.now().getTime() / 1_000));
  const hmac = createHmac('sha256', '0123456789abcdef0123456789abcdef').update(`${id}.${timestamp}.${call.body}`);
  expect(signature).toBe(`v1,${hmac.digest('base64')}`);
  expect(eventsOf(receiver)).toEqual([
    {
      id,
      type: 'waiting',
      timestamp: platform.now().toISOString(),
      data: {
        signal: 'waiting',
        title: 'Login <form>: run this command?',
        text: 'make',
        url: `${PUBLIC_URL}/inbox?request=${session.stageId}%2Fr1`,
        project: { id: 'shop', name: 'Shop' },
        stage: { id: session.stageId, title: 'Login <form>' },
        request: { id: 'r1', kind: 'approval', toolName: 'Bash' },
      },
    },
  ]);
  await allow(session);
  await work();
  expect(eventsOf(receiver).slice(1)).toMatchObject([{ type: 'settled', data: { signal: 'waiting' } }]);
  expect(receiver.received[1]?.headers['webhook-id']).not.toBe(id);
});

it('sends nothing that was answered before, and no follow-up of it', async () => {
  const { session, receiver, announce, deliver, add, webhooks } = await setUp();
  const webhookId = await add();
  await session.emit(asked('r1'), asked('r2'));
  await announce();
  await allow(session, 'r1');
  await announce();
  await allow(session, 'r2'); // not announced yet: the channel itself looks
  await deliver();
  await announce();
  await deliver();
  expect(receiver.received).toEqual([]);
  const calls = await webhooks.calls(webhookId);
  expect(calls.map(({ state }) => state)).toEqual(['dropped', 'dropped']);
  // A person who repeats one all the same tells that it is settled; that is not told a second time.
  await webhooks.repeat({ webhookId, callId: calls[1]?.callId ?? '' });
  await deliver();
  await deliver();
  expect(eventsOf(receiver)).toMatchObject([{ type: 'settled', data: { request: { id: 'r1' } } }]);
});

it('tells each webhook its signals and its projects only', async () => {
  const { session, receiver, work, add } = await setUp();
  await add({ signals: ['failed'] });
  await add({ isOn: false });
  await session.emit(asked('r1'));
  await work();
  expect(receiver.received).toEqual([]);
  await allow(session);
  await session.emit(turnEnded('failed'));
  await work();
  expect(eventsOf(receiver).map(({ type }) => type)).toEqual(['failed']);
});

it('tells a webhook of one project nothing of another', async () => {
  const { session, receiver, work, add, store } = await setUp();
  const web = (await store.read.projects.list())[0];
  if (web === undefined) throw new Error('no project');
  await store.transact((tx) => tx.projects.save({ ...web, id: 'other' as ProjectId, path: '/other' })); // a name of the test
  await add({ projectIds: ['other' as ProjectId] });
  await add({ projectIds: [web.id] });
  await session.emit(asked('r1'));
  await work();
  expect(receiver.received).toHaveLength(1);
});

it('escalates to a second one only if nobody has answered in time', async () => {
  const { session, receiver, work, add, pass } = await setUp();
  await add({ name: 'At once' }, { ...toReceiver(receiver), url: `${receiver.url}/first` } as WebhookTarget);
  await add({ name: 'Later', afterMinutes: 10 });
  const paths = () => receiver.received.map(({ path }) => path);
  await session.emit(asked('r1'), asked('r2'));
  await work();
  expect(paths()).toEqual(['/first', '/first']);
  await pass(9 * 60_000);
  await allow(session, 'r1');
  await work();
  await pass(60_000);
  await work();
  // r1 was answered: its follow-up goes to who was told. r2 escalates, once.
  expect(paths()).toEqual(['/first', '/first', '/first', '/hook']);
  expect(eventsOf(receiver).at(-1)).toMatchObject({ type: 'waiting', data: { request: { id: 'r2' } } });
  await work();
  expect(paths()).toHaveLength(4);
});

it('repeats a call with the same id when Callboard is killed before it has stored the answer', async () => {
  const { session, receiver, announce, deliverer, deliver, add, webhooks } = await setUp();
  const webhookId = await add();
  await session.emit(asked('r1'));
  await announce();
  receiver.answer(() => undefined, { status: 204 });
  deliverer(); // is killed while the receiver works: nobody hears of its answer
  await vi.waitFor(() => expect(receiver.received).toHaveLength(1));
  await deliver();
  const ids = eventsOf(receiver).map(({ id }) => id);
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(1);
  expect(await webhooks.calls(webhookId)).toMatchObject([{ state: 'sent', attempts: 2 }]);
});

it('tells who may have been told when Callboard was killed that it is answered', async () => {
  const { session, receiver, announce, deliverer, work, add } = await setUp();
  await add();
  await session.emit(asked('r1'));
  await announce();
  receiver.answer(() => undefined, { status: 204 });
  deliverer(); // is killed
  await vi.waitFor(() => expect(receiver.received).toHaveLength(1));
  await allow(session);
  await work();
  expect(eventsOf(receiver).map(({ type }) => type)).toEqual(['waiting', 'settled']);
});

it('tries again after a failure with growing waits, and lists what went wrong', async () => {
  const { session, receiver, work, add, pass, webhooks } = await setUp();
  const webhookId = await add();
  receiver.answer({ status: 500, text: 'down' }, { status: 429, headers: { 'retry-after': '60' } }, { status: 200 });
  await session.emit(asked('r1'));
  await work();
  const error = '127.0.0.1 refused the call with status 500: down';
  expect(await webhooks.calls(webhookId)).toMatchObject([{ state: 'queued', attempts: 1, error }]);
  expect(await webhooks.list()).toMatchObject([{ sentAt: null, problem: { text: error } }]);
  await pass(5_000);
  await work();
  expect(receiver.received).toHaveLength(2);
  await pass(59_000);
  await work();
  expect(receiver.received).toHaveLength(2);
  await pass(1_000);
  await work();
  expect(await webhooks.calls(webhookId)).toMatchObject([{ state: 'sent', attempts: 3, error: null }]);
  expect(await webhooks.list()).toMatchObject([{ sentAt: expect.any(String), problem: null }]);
});

it('repeats a call when a person asks, also one that was given up', async () => {
  const { session, receiver, work, deliver, add, webhooks } = await setUp();
  const webhookId = await add({ tellsSettled: false });
  receiver.answer({ status: 400 }, { status: 204 });
  await session.emit(asked('r1'));
  await work();
  const [call] = await webhooks.calls(webhookId);
  expect(call).toMatchObject({ state: 'dropped', error: '127.0.0.1 refused the call with status 400.' });
  await webhooks.repeat({ webhookId, callId: call?.callId ?? '' });
  await deliver();
  expect(await webhooks.calls(webhookId)).toMatchObject([{ state: 'sent' }]);
  await allow(session);
  await work(); // it wants no follow-up
  await webhooks.repeat({ webhookId, callId: call?.callId ?? '' });
  await deliver();
  const events = eventsOf(receiver);
  expect(new Set(events.map(({ id }) => id)).size).toBe(1);
  expect(events.map(({ type }) => type)).toEqual(['waiting', 'waiting', 'settled']); // it is never told as open again
  await expect(webhooks.repeat({ webhookId, callId: '999' })).rejects.toMatchObject({ code: 'unknown_call' });
});

it('sends nothing to what was removed or switched off meanwhile', async () => {
  const { session, receiver, announce, deliver, add, webhooks } = await setUp();
  const [removed, off] = [await add(), await add()];
  await session.emit(asked('r1'));
  await announce();
  await webhooks.remove(removed);
  await webhooks.change(ADA, { webhookId: off, patch: { isOn: false } });
  await deliver();
  expect(receiver.received).toEqual([]);
  expect(await webhooks.calls(off)).toMatchObject([{ state: 'dropped', error: 'It was switched off meanwhile.' }]);
});

it('lets a receiver that does not answer hold up no other', async () => {
  const { session, receiver, announce, deliverer, add } = await setUp();
  const slow = await startReceiver();
  slow.answer(() => undefined);
  await add({}, toReceiver(slow));
  await add();
  await session.emit(asked('r1'), asked('r2'));
  await announce();
  deliverer();
  await vi.waitFor(() => expect(receiver.received).toHaveLength(2));
  expect(slow.received).toHaveLength(1);
});

it('changes the message in Telegram, and sends no follow-up where a service has none', async () => {
  const { session, receiver, work, add } = await setUp();
  const { url } = receiver;
  await add({}, { form: 'slack', url: `${url}/slack`, allowsThisMachine: true });
  const token = '123456:abcdefghijklmnopqrstuvwxyz';
  await add({}, { form: 'telegram', token, chatId: '-100', server: url, allowsThisMachine: true });
  receiver.answer({ status: 200, text: JSON.stringify({ ok: true, result: { message_id: 77 } }) });
  await session.emit(asked('r1'));
  await work();
  await allow(session);
  await work();
  const paths = receiver.received.map(({ path }) => path);
  expect(paths.toSorted()).toEqual([`/bot${token}/editMessageText`, `/bot${token}/sendMessage`, '/slack']);
  const edited = receiver.received.find(({ path }) => path.endsWith('editMessageText'));
  expect(JSON.parse(edited?.body ?? '')).toMatchObject({ message_id: 77, chat_id: '-100' });
});

it('changes no message in another chat than that in which it was told', async () => {
  const { session, receiver, work, add, webhooks } = await setUp();
  const token = '123456:abcdefghijklmnopqrstuvwxyz';
  const telegram = { form: 'telegram', token, chatId: '-100', server: receiver.url, allowsThisMachine: true } as const;
  const webhookId = await add({}, telegram);
  receiver.answer({ status: 200, text: JSON.stringify({ ok: true, result: { message_id: 77 } }) });
  await session.emit(asked('r1'));
  await work();
  await webhooks.change(ADA, { webhookId, patch: { target: { ...telegram, chatId: '-200' } } });
  await allow(session);
  await work();
  expect(receiver.received.map(({ path }) => path)).toEqual([`/bot${token}/sendMessage`]);
  const error = 'It is not known which message of this chat to change.';
  expect((await webhooks.calls(webhookId))[0]).toMatchObject({ isFollowUp: true, state: 'dropped', error });
});

it('switches off a webhook whose address is gone, says so, and calls it no more until a person switches it on', async () => {
  const { session, receiver, work, add, webhooks } = await setUp();
  const webhookId = await add();
  receiver.answer({ status: 410 });
  await session.emit(asked('r1'));
  await work();
  const text = expect.stringMatching(/status 410\. The address is gone for good, so this was switched off\./);
  expect(await webhooks.list()).toMatchObject([{ isOn: false, problem: { text } }]);
  await session.emit(asked('r2'));
  await work();
  expect(receiver.received).toHaveLength(1);
  await webhooks.change(ADA, { webhookId, patch: { isOn: true } });
  receiver.answer({ status: 204 });
  await session.emit(asked('r3'));
  await work();
  expect(receiver.received).toHaveLength(2);
  expect(await webhooks.list()).toMatchObject([{ isOn: true, problem: null }]);
});
