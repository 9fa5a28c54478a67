import type { StageId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { beginTestSession, type TestSession } from '../../../test/support/test-session.ts';
import { silent } from '../../../test/support/test-store.ts';
import type { MessageRow } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import { listDeferred, resumeDeferred, resumeDeferredWork } from './scheduler.ts';

const STOPPED = { kind: 'stopped', reason: 'Stopped by Ada.' } as const;

/** Returns the texts of the messages that the session is resumed for. */
async function resumedFor({ store }: TestSession): Promise<string[]> {
  const resumed: string[] = [];
  const deps = {
    store,
    log: silent,
    resumeWith: async (_tx: Tx, _stageId: StageId, { body }: MessageRow) => resumed.push(body.text) > 0,
    repeatIn: async () => undefined,
  };
  await resumeDeferredWork(deps);
  expect(resumed).toEqual([]); // a new process waits for room
  for (const stageId of await listDeferred(store.read)) await resumeDeferred(deps, stageId);
  return resumed;
}

/** An ended session that got two messages while the disk had no room. */
async function setUp(): Promise<TestSession> {
  const session = await beginTestSession();
  await session.end(STOPPED);
  for (const text of ['one', 'two']) await session.enqueue(text);
  await session.store.transact(async (tx) => {
    for (const { id, body } of await tx.outbox.queueOf(session.stageId)) {
      if (body.text !== 'Do it') await tx.outbox.setBody(id, { ...body, awaitsRoom: true });
    }
  });
  return session;
}

it('resumes an ended session for a message that was sent while the disk had no room', async () => {
  expect(await resumedFor(await setUp())).toEqual(['one']);
});

it('does not resume a session that was started and stopped since: its queue waits for a person', async () => {
  const session = await setUp();
  await session.begin();
  await session.end(STOPPED);
  expect((await session.queue()).map(({ text }) => text)).toContain('two');
  expect(await resumedFor(session)).toEqual([]);
});
