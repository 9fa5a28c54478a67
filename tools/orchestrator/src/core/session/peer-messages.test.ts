import { expect, it } from 'vitest';
import {
  busyTestSession,
  type Reported,
  read,
  type TestSession,
  turnEnded,
} from '../../../test/support/test-session.ts';

const fromPeer = (messageId: string): Reported => ({
  type: 'peer-message',
  messageId,
  from: 'work-03',
  text: 'Hello from A',
});
const finished = (messageId: string): Reported => ({ type: 'message-progress', messageId, progress: 'finished' });
const alarm = async (session: TestSession) => (await session.record()).alarm?.code ?? null;
const messages = async (session: TestSession) =>
  (await session.transcript()).flatMap((entry) =>
    entry.kind === 'notice' && entry.code === 'session-message' ? [entry.text] : [],
  );

it('shows the message of another session as a notice with its sender, if other sessions may write', async () => {
  const session = await busyTestSession({}, undefined, { mayPeersWrite: true });
  await session.emit(turnEnded(), read('m9'), fromPeer('m9'), turnEnded(), finished('m9'));
  expect(await alarm(session)).toBeNull();
  expect(await messages(session)).toEqual(['Another Claude Code session (work-03) wrote to Claude: Hello from A']);
  expect((await session.transcript()).filter(({ kind }) => kind === 'user')).toHaveLength(1); // the stage's prompt
});

it('raises an alarm at the end of the turn for a message without a reported sender, even if other sessions may write', async () => {
  const session = await busyTestSession({}, undefined, { mayPeersWrite: true });
  await session.emit(read('m8'), read('m9'), fromPeer('m9'));
  expect(await alarm(session)).toBeNull();
  await session.emit(turnEnded());
  expect(await alarm(session)).toBe('foreign-message');
});

it('raises an alarm for a message of another session if other sessions may not write', async () => {
  const session = await busyTestSession();
  await session.emit(fromPeer('m9'));
  expect(await alarm(session)).toBe('foreign-message');
  expect(await messages(session)).toEqual([]);
});
