import { MESSAGE_KEY, MessageId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { testQueue } from '../../../test/support/test-queue.ts';
import { busyTestSession, read, type TestSession, turnEnded } from '../../../test/support/test-session.ts';
import { sampleStage, stageId } from '../../../test/support/test-store.ts';
import { createDrafts } from './drafts.ts';

async function setUp() {
  const session = await busyTestSession();
  const resumed: string[] = [];
  let interrupts = 0;
  const queue = testQueue(session, {
    resumeWith: async (_tx, _stageId, message) => resumed.push(message.body.text) > 0,
    interrupt: async () => void interrupts++,
  });
  const send = (message: string, mode?: 'append' | 'replace' | 'steer' | 'now') =>
    queue.send(session.stageId, { message, mode }, 'Bo');
  return { session, queue, send, resumed, interrupts: () => interrupts };
}
const texts = async (session: TestSession) => (await session.queue()).map((message) => message.text);
const sent = (session: TestSession) => session.events('message-sent').map((message) => message.text);

it('queues messages in order while Claude works', async () => {
  const { session, send } = await setUp();
  expect(await send('one')).toMatchObject({ status: 'queued' });
  expect(await send('two')).toMatchObject({ status: 'queued' });
  expect(await texts(session)).toEqual(['one', 'two']);
  expect(session.events('message-queued')).toMatchObject([{ text: 'one', by: 'Bo' }, { text: 'two' }]);
});

it('sends at once when the session is idle, even ahead of held rows', async () => {
  const { session, send } = await setUp();
  await send('one');
  await session.emit(turnEnded('failed'));
  expect(await send('two')).toMatchObject({ status: 'sent' });
  expect(sent(session)).toEqual(['Do it', 'two']);
  expect(await texts(session)).toEqual(['one']);
});

it('replaces all queued messages and returns their texts', async () => {
  const { session, send } = await setUp();
  await send('one');
  await send('two');
  expect(await send('three', 'replace')).toMatchObject({ status: 'queued', replaced: ['one', 'two'] });
  expect(await texts(session)).toEqual(['three']);
});

it('steers the running turn, and interrupts it for an urgent message', async () => {
  const { session, send, interrupts } = await setUp();
  await send('one');
  expect(await send('two', 'steer')).toMatchObject({ status: 'sent' });
  expect(sent(session)).toEqual(['Do it', 'two']);
  expect(interrupts()).toBe(0);
  expect(await send('three', 'now')).toMatchObject({ status: 'queued' });
  expect(interrupts()).toBe(1);
  expect(await texts(session)).toEqual(['three', 'one']);
});

it('resumes an ended session with the message', async () => {
  const { session, send, resumed } = await setUp();
  await session.end();
  expect(await send('one')).toMatchObject({ status: 'resumed' });
  expect(resumed).toEqual(['one']);
});

it('refuses a message to a stage that does not exist or was never started, and stores nothing', async () => {
  const { session, queue } = await setUp();
  const sendTo = (id: string) => queue.send(stageId(id), { message: 'one' }, 'Bo');
  await expect(sendTo('S9')).rejects.toMatchObject({ code: 'unknown_stage' });
  await session.store.transact((tx) => tx.stages.insert(sampleStage({ id: 'S9' })));
  await expect(sendTo('S9')).rejects.toMatchObject({ code: 'no_session' });
  expect(await session.store.read.outbox.queueOf(stageId('S9'))).toEqual([]);
});

it('changes the text and the place of a row, and removes it', async () => {
  const { session, queue, send } = await setUp();
  const [first, , third] = [await send('one'), await send('two'), await send('three')];
  await queue.edit(session.stageId, third?.messageId ?? first.messageId, { place: 0 });
  expect(await texts(session)).toEqual(['three', 'one', 'two']);
  expect(await queue.edit(session.stageId, first.messageId, { message: 'uno', place: 99 })).toMatchObject({
    text: 'uno',
  });
  expect(await texts(session)).toEqual(['three', 'two', 'uno']);
  expect(await queue.remove(session.stageId, first.messageId)).toMatchObject({ text: 'uno' });
  expect(await texts(session)).toEqual(['three', 'two']);
});

it('says whether a row that cannot be changed was sent or never existed', async () => {
  const { session, queue, send } = await setUp();
  const { messageId } = await send('one');
  await session.emit(turnEnded());
  await expect(queue.edit(session.stageId, messageId, { message: 'x' })).rejects.toMatchObject({
    code: 'already_sent',
  });
  const unknown = queue.remove(session.stageId, MessageId.parse('nobody'));
  await expect(unknown).rejects.toMatchObject({ code: 'unknown_message' });
});

it('keeps the order in which messages were written when one returns unread', async () => {
  const { session, queue, send } = await setUp();
  await send('one');
  await send('two');
  await session.emit(turnEnded()); // delivers the first one, which the process does not read
  const later = await send('three');
  await session.end();
  expect(await texts(session)).toEqual(['one', 'two', 'three']);
  await queue.edit(session.stageId, later.messageId, { place: 1 });
  expect(await texts(session)).toEqual(['one', 'three', 'two']);
});

it('keeps that order even if the queue was empty or reordered meanwhile', async () => {
  const { session, queue, send } = await setUp();
  const first = await send('one');
  await send('two');
  await session.emit(turnEnded());
  await session.emit(read(first.messageId), turnEnded()); // now the second one is delivered and not read
  await send('three');
  const fourth = await send('four');
  await queue.edit(session.stageId, fourth.messageId, { place: 0 });
  await session.end();
  expect(await texts(session)).toEqual(['two', 'four', 'three']);
});

it('returns an urgent message to the held queue when a person interrupts before Claude has read it', async () => {
  const { session, send } = await setUp();
  const { messageId } = await send('now!', 'now');
  await session.emit(turnEnded('interrupted'));
  expect(sent(session)).toEqual(['Do it', 'now!']);
  await session.emit({ type: 'message-progress', messageId, progress: 'cancelled' });
  expect(await texts(session)).toEqual(['now!']);
  expect(await session.record()).toMatchObject({ state: 'idle', queueHeld: true });
});

it('lets go of the draft of a message as it takes it, keeps any other, and takes no draft of a message that was sent', async () => {
  const { session, queue } = await setUp();
  const { stageId: of, store } = session;
  const drafts = createDrafts({ store });
  const [messageId, other] = [MessageId.parse(crypto.randomUUID()), MessageId.parse(crypto.randomUUID())];
  const write = (text: string, id = messageId) =>
    drafts.put({ stageId: of, key: MESSAGE_KEY, value: { text, messageId: id }, writer: null });
  await write('Hel'); // what was typed after it has not been saved yet
  await queue.send(of, { message: 'Hello', messageId }, 'Bo');
  expect(await drafts.list(of)).toEqual([]);
  expect(session.events('draft-updated').at(-1)).toMatchObject({ key: MESSAGE_KEY, value: null });
  await queue.send(of, { message: 'Hello', messageId }, 'Bo'); // from the page that was left before the reply
  expect(await texts(session)).toEqual(['Hello']);

  expect(await write('Hello')).toMatchObject({ draft: { value: null }, sent: 'Hello' });
  expect(await drafts.list(of)).toEqual([]);
  expect(await write('Meanwhile', other)).not.toHaveProperty('sent');
  await queue.send(of, { message: 'Two', messageId: MessageId.parse(crypto.randomUUID()) }, 'Bo');
  expect(await drafts.list(of)).toMatchObject([{ value: { text: 'Meanwhile', messageId: other } }]);
});
