import { expect, it } from 'vitest';
import { busyTestSession, read, type TestSession, type Told, turnEnded } from '../../test/support/test-session.ts';

const fromPeer = (messageId: string): Told => ({
  type: 'peer-message',
  messageId,
  from: 'work-03',
  text: 'Hello from A',
});
const finished = (messageId: string): Told => ({ type: 'message-progress', messageId, progress: 'finished' });
const alarm = async (session: TestSession) => (await session.record()).alarm?.code ?? null;
const messages = async (session: TestSession) =>
  (await session.transcript()).flatMap((entry) =>
    entry.kind === 'notice' && entry.code === 'session-message' ? [entry.text] : [],
  );

it('shows what another session wrote, with its sender, as nobody’s message here, where that is wanted', async () => {
  const session = await busyTestSession({}, undefined, { mayPeersWrite: true });
  await session.tell(turnEnded(), read('m9'), fromPeer('m9'), turnEnded(), finished('m9'));
  expect(await alarm(session)).toBeNull();
  expect(await messages(session)).toEqual(['Another Claude Code session (work-03) wrote to Claude: Hello from A']);
  expect((await session.transcript()).filter(({ kind }) => kind === 'user')).toHaveLength(1); // the stage's prompt
});

it('raises an alarm where a message was taken that no session tells of, though they may write', async () => {
  const session = await busyTestSession({}, undefined, { mayPeersWrite: true });
  await session.tell(read('m8'), read('m9'), fromPeer('m9'));
  expect(await alarm(session)).toBeNull();
  await session.tell(turnEnded());
  expect(await alarm(session)).toBe('foreign-message');
});

it('raises an alarm where they may not write', async () => {
  const session = await busyTestSession();
  await session.tell(fromPeer('m9'));
  expect(await alarm(session)).toBe('foreign-message');
  expect(await messages(session)).toEqual([]);
});
