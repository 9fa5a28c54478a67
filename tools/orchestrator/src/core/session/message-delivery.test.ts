import { expect, it } from 'vitest';
import {
  asked,
  begun,
  busyTestSession,
  read,
  type TestSession,
  turnEnded,
  up,
} from '../../../test/support/test-session.ts';
import { endLaunch, type LaunchEnd } from './end-launch.ts';

/** Writes a message into the running turn. */
async function steer(session: TestSession, text: string): Promise<string> {
  const id = await session.enqueue(text);
  const row = (await session.store.read.outbox.queueOf(session.stageId)).find(({ wireId }) => wireId === id);
  await session.store.transact((tx) => tx.outbox.assign(row?.id ?? '', session.launchId()));
  return id;
}

const texts = async (session: TestSession) => (await session.queue()).map((message) => message.text);
const given = async (session: TestSession) => (await session.outbox()).filter((row) => row.kind === 'message');
const promptOf = async (session: TestSession) => (await given(session))[0]?.wireId ?? '';
const sent = (session: TestSession) => session.events('message-sent').map((message) => message.text);

it('keeps messages in order in the queue while Claude works', async () => {
  const session = await busyTestSession();
  await session.enqueue('one');
  await session.enqueue('two');
  expect(await texts(session)).toEqual(['one', 'two']);
  expect(await session.record()).toMatchObject({ state: 'busy', queued: 2 });
});

it('delivers one message per turn, as soon as the session would be idle', async () => {
  const session = await busyTestSession();
  const first = await session.enqueue('one');
  const second = await session.enqueue('two');
  expect(await session.emit(turnEnded())).toMatchObject({ state: 'busy', queued: 1 });
  expect(sent(session)).toEqual(['Do it', 'one']);
  await session.emit(read(first), turnEnded());
  expect(sent(session)).toEqual(['Do it', 'one', 'two']);
  expect(await session.emit(read(second), turnEnded())).toMatchObject({ state: 'idle', queued: 0 });
  const delivered = (await session.outbox()).filter((row) => row.kind === 'message').map((row) => row.state);
  expect(delivered).toEqual(['confirmed', 'confirmed', 'confirmed']);
  const states = session.events('session-updated').map((summary) => summary.state);
  expect(states.indexOf('idle')).toBe(states.length - 1);
});

it('sends a message to an idle session at once', async () => {
  const session = await busyTestSession();
  await session.emit(turnEnded());
  await session.enqueue('one');
  expect(await session.record()).toMatchObject({ state: 'busy', queued: 0 });
  expect(sent(session)).toEqual(['Do it', 'one']);
});

it('delivers nothing while a request is open, even after the turn', async () => {
  const session = await busyTestSession();
  await session.enqueue('one');
  await session.emit(asked('r1'), turnEnded());
  expect(await session.record()).toMatchObject({ state: 'waiting', queued: 1 });
  expect(sent(session)).toEqual(['Do it']);
  await session.emit({ type: 'withdrawn', requestId: 'r1' });
  expect(sent(session)).toEqual(['Do it', 'one']);
});

it('delivers nothing while an agent works in the background', async () => {
  const session = await busyTestSession();
  await session.enqueue('one');
  await session.emit({ type: 'tasks', tasks: [{ taskId: 't', type: 'local_agent', description: '' }] }, turnEnded());
  expect(sent(session)).toEqual(['Do it']);
  await session.emit({ type: 'tasks', tasks: [] });
  expect(sent(session)).toEqual(['Do it', 'one']);
});

it.each(['failed', 'interrupted'] as const)('holds the queue after a turn that was %s', async (outcome) => {
  const session = await busyTestSession();
  await session.enqueue('one');
  expect(await session.emit(turnEnded(outcome))).toMatchObject({ state: 'idle', queued: 1, queueHeld: true });
  expect(session.events('queue-updated').at(-1)).toMatchObject({ held: true, queue: [{ text: 'one' }] });
  await session.emit({ type: 'mode-changed', mode: 'plan' });
  expect(sent(session)).toEqual(['Do it']);
});

it('releases a held queue after a turn that succeeded', async () => {
  const session = await busyTestSession();
  await session.enqueue('one');
  await session.emit(turnEnded('failed'));
  await session.emit({ type: 'turn-started', model: null, mode: null, messageIds: [] }, turnEnded());
  expect(sent(session)).toEqual(['Do it', 'one']);
  expect(await session.record()).toMatchObject({ queueHeld: false });
});

it('does not hold an empty queue', async () => {
  const session = await busyTestSession();
  expect(await session.emit(turnEnded('failed'))).toMatchObject({ queueHeld: false });
  await session.enqueue('one');
  expect(sent(session)).toEqual(['Do it', 'one']);
});

it('stays busy after the end of a turn while a delivered message is unread', async () => {
  const session = await busyTestSession();
  await session.emit(turnEnded());
  const first = await session.enqueue('one');
  expect(await session.emit(turnEnded())).toMatchObject({ state: 'busy' }); // the CLI began that turn on its own
  expect(await session.emit(read(first), turnEnded())).toMatchObject({ state: 'idle' });
});

it('is idle after a message that finishes and never began: the CLI read it in an earlier launch', async () => {
  const session = await busyTestSession();
  await session.emit(turnEnded());
  const first = await session.enqueue('one');
  expect(await session.record()).toMatchObject({ state: 'busy' });
  const finished = { type: 'message-progress', messageId: first, progress: 'finished' } as const;
  expect(await session.emit(finished)).toMatchObject({ state: 'idle' });
});

it('returns a message that an interrupt took back to its place in the queue, under a new id, and holds the queue', async () => {
  const session = await busyTestSession();
  const first = await session.enqueue('one');
  await session.enqueue('two');
  await session.emit(turnEnded());
  const cancelled = { type: 'message-progress', messageId: first, progress: 'cancelled' } as const;
  await session.emit(cancelled);
  await session.emit(turnEnded('interrupted'));
  expect(await texts(session)).toEqual(['one', 'two']);
  const [again] = await session.queue();
  expect(again).toMatchObject({ by: 'Ada' });
  expect(again?.messageId).not.toBe(first);
  expect(await session.record()).toMatchObject({ state: 'idle', queueHeld: true });
  const old = (await session.outbox()).find((row) => row.wireId === first);
  expect(old).toMatchObject({ state: 'void' });
  await session.emit({ ...cancelled, progress: 'consumed' }); // too late: the row stays void
  expect(await texts(session)).toEqual(['one', 'two']);
});

it('is idle when the only message is taken back before its turn began, because no end of the turn follows', async () => {
  const session = await busyTestSession();
  await session.emit(turnEnded());
  const first = await session.enqueue('one');
  const record = await session.emit({ type: 'message-progress', messageId: first, progress: 'cancelled' });
  expect(record).toMatchObject({ state: 'idle', queued: 1, queueHeld: true });
});

it('stays busy until the end of the turn when a message for the running turn is taken back', async () => {
  const session = await busyTestSession();
  const first = await steer(session, 'one');
  const cancelled = { type: 'message-progress', messageId: first, progress: 'cancelled' } as const;
  expect(await session.emit(cancelled)).toMatchObject({ state: 'busy', queueHeld: true });
  expect(await session.emit(turnEnded('interrupted'))).toMatchObject({ state: 'idle', queued: 1, queueHeld: true });
});

it('does not resend a message that an interrupt took back, even if the end of the turn is reported first', async () => {
  const session = await busyTestSession();
  await session.emit(turnEnded());
  const first = await session.enqueue('one');
  await session.emit(turnEnded('interrupted'));
  await session.emit({ type: 'message-progress', messageId: first, progress: 'cancelled' });
  expect(sent(session)).toEqual(['Do it', 'one']);
  expect(await session.record()).toMatchObject({ state: 'idle', queued: 1, queueHeld: true });
});

it('returns messages that a dead process did not read to the queue, under their old ids, and holds the queue', async () => {
  const session = await busyTestSession();
  const first = await session.enqueue('one');
  const second = await session.enqueue('two');
  await session.emit(turnEnded());
  expect(await session.end()).toMatchObject({ state: 'ended', queued: 2, queueHeld: true });
  expect((await session.queue()).map((message) => message.messageId)).toEqual([first, second]);
});

it('does not return a message that was read, because the resumed conversation has it', async () => {
  const session = await busyTestSession();
  await session.end();
  expect(await texts(session)).toEqual([]);
});

it('continues a held queue when a person starts the session again, one message per turn', async () => {
  const session = await busyTestSession();
  const first = await session.enqueue('one');
  await session.enqueue('two');
  await session.end(undefined, [await promptOf(session)]);
  expect(sent(session)).toEqual(['Do it']);
  await session.begin();
  expect(sent(session)).toEqual(['Do it', 'one']);
  expect(await session.emit(up(), read(first))).toMatchObject({ state: 'busy', queued: 1 });
  await session.emit(turnEnded());
  expect(sent(session)).toEqual(['Do it', 'one', 'two']);
});

it('changes nothing at the late end of a launch that a newer one has replaced', async () => {
  const session = await busyTestSession();
  const old = session.launchId();
  await session.end();
  await session.begin();
  const record = await session.record();
  await session.store.transact((tx) =>
    endLaunch(tx, { id: old, stageId: session.stageId }, { kind: 'died', reason: 'late news', wasWatched: true }),
  );
  expect(await session.record()).toEqual(record);
});

it('resends a message that the resumed conversation lacks, under the same id, and nothing else until it is read', async () => {
  const session = await busyTestSession();
  await session.emit(turnEnded());
  const lacking = await session.enqueue('read, and not saved');
  await session.emit(read(lacking));
  await session.enqueue('one');
  await session.end();
  await session.begin();
  expect((await given(session)).map((row) => [row.wireId, row.state])).toEqual([[lacking, 'accepted']]);
  expect(session.events('message-sent').filter(({ messageId }) => messageId === lacking)).toHaveLength(1);
  expect((await session.transcript()).at(-1)).toMatchObject({ kind: 'notice', code: 'told-again' });
  await session.emit(up(), read(lacking), turnEnded('failed'));
  expect(sent(session)).toEqual(['Do it', 'read, and not saved', 'one']);
});

it('resends the lacking message first, then the message that a person wrote, ahead of the held ones', async () => {
  const session = await busyTestSession();
  await session.enqueue('held');
  const prompt = await promptOf(session);
  await session.end();
  await session.begin(await session.enqueue('now written'));
  expect((await given(session)).map((row) => row.wireId)).toEqual([prompt]);
  expect(await texts(session)).toEqual(['now written', 'held']);
  await session.emit(up(), read(prompt), turnEnded());
  expect(sent(session)).toEqual(['Do it', 'now written']);
});

it('continues if the CLI drops a resent message because it has it already', async () => {
  const session = await busyTestSession();
  await session.enqueue('one');
  const prompt = await promptOf(session);
  await session.end();
  await session.begin();
  await session.emit(up(), { type: 'message-progress', messageId: prompt, progress: 'finished' });
  expect(sent(session)).toEqual(['Do it', 'one']);
});

it('does not resend a message that the conversation has', async () => {
  const session = await busyTestSession();
  await session.end(undefined, [await promptOf(session)]);
  await session.begin();
  const [row, ...others] = await given(session);
  expect(row).toMatchObject({ body: { text: 'Continue where you left off.' } });
  expect(others).toEqual([]);
});

it('does not queue a steered message again that the conversation has, even if the CLI did not report it as read', async () => {
  const session = await busyTestSession();
  const steered = await steer(session, 'by the way');
  expect(await session.end(undefined, [await promptOf(session), steered])).toMatchObject({ queued: 0 });
  await session.begin();
  expect((await given(session)).map((row) => row.wireId)).not.toContain(steered);
});

it('resends only the message of a turn that the conversation lacks', async () => {
  const session = await busyTestSession();
  const steered = await steer(session, 'by the way');
  await session.emit(read(steered));
  await session.end(undefined, [await promptOf(session)]);
  await session.begin();
  expect((await given(session)).map((row) => row.wireId)).toEqual([steered]);
});

it('finds messages that the CLI joined into one by the last of them', async () => {
  const session = await busyTestSession();
  const [first, second] = [await steer(session, 'one'), await steer(session, 'two')];
  await session.emit(turnEnded(), read(first), read(second), begun(first, second));
  await session.end(undefined, [second]);
  await session.begin();
  expect((await given(session)).map((row) => row.body)).toMatchObject([{ text: 'Continue where you left off.' }]);
});

it('does not resend messages of a finished turn', async () => {
  const session = await busyTestSession();
  await session.emit(turnEnded());
  await session.end();
  await session.begin();
  expect(await given(session)).toEqual([]);
});

it('reports an ended turn that the conversation lacks, and does not repeat it', async () => {
  const session = await busyTestSession();
  await session.emit(turnEnded());
  await session.end(undefined, []);
  const forgotten = expect.objectContaining({ kind: 'notice', code: 'turn-forgotten' });
  expect(await session.transcript()).toContainEqual(forgotten);
  await session.begin();
  expect(await given(session)).toEqual([]);
});

it.each<[string, LaunchEnd | undefined, (prompt: string) => readonly string[] | null]>([
  ['is in the conversation', undefined, (prompt) => [prompt]],
  ['is unknown because the conversation cannot be read', undefined, () => null],
  ['ended before a person stopped the session', { kind: 'stopped', reason: 'Stopped by Ada.' }, () => []],
])('does not report a turn as forgotten that %s', async (_what, end, found) => {
  const session = await busyTestSession();
  const prompt = await promptOf(session);
  await session.emit(turnEnded());
  await session.end(end, found(prompt));
  expect((await session.transcript()).some((entry) => entry.kind === 'notice' && entry.code === 'turn-forgotten')).toBe(
    false,
  );
});
