import { expect, it, onTestFinished, vi } from 'vitest';
import { asked, busyTestSession, turnEnded } from '../../test/support/test-session.ts';
import { openTestStore, sampleStage, silent } from '../../test/support/test-store.ts';
import { startScheduler } from './scheduler.ts';

it('looks at the board when a session works no more, and neither at each of its steps nor when it goes on', async () => {
  const given = await openTestStore();
  const session = await busyTestSession({}, given);
  await given.addStage({ autoStart: true }); // waits for room
  const { store } = session;
  const board = vi.spyOn(store, 'board');
  const scheduler = startScheduler({
    ...{ store, log: silent, maxParallel: 1, mayStart: () => true },
    start: async () => undefined,
  });
  onTestFinished(scheduler.stop);
  await session.tell(asked('r1'));
  await scheduler.drain();
  const before = board.mock.calls.length;
  const input = { command: 'make' };
  for (const toolUseId of ['u1', 'u2', 'u3']) {
    const block = { kind: 'tool-use', toolUseId, toolName: 'Bash', input: { ...input, toolUseId } } as const;
    await session.tell({ type: 'block', apiMessageId: 'm1', parentToolUseId: null, block });
    await session.tell({ type: 'conversation', sessionId: toolUseId });
    await scheduler.drain();
  }
  expect(session.events('session-updated').length).toBeGreaterThan(3);
  expect(board.mock.calls.length).toBe(before);
  await session.tell({ type: 'withdrawn', requestId: 'r1' });
  await scheduler.drain();
  expect(session.events('session-updated').at(-1)).toMatchObject({ state: 'busy' });
  expect(board.mock.calls.length).toBe(before);
  await session.tell(turnEnded());
  await scheduler.drain();
  expect(board.mock.calls.length).toBeGreaterThan(before);
});

it('does not look at the board for the room that a session makes where no stage waits, and does once one may', async () => {
  const given = await openTestStore();
  const session = await busyTestSession({}, given);
  const { store } = session;
  const board = vi.spyOn(store, 'board');
  const started: string[] = [];
  const scheduler = startScheduler({
    ...{ store, log: silent, maxParallel: 1, mayStart: () => true },
    start: async (stageId) => void started.push(stageId),
  });
  onTestFinished(scheduler.stop);
  await scheduler.drain();
  const before = board.mock.calls.length;
  await session.tell(asked('r1'));
  await session.tell({ type: 'withdrawn', requestId: 'r1' });
  await scheduler.drain();
  expect(board.mock.calls.length).toBe(before);
  const waiting = await given.addStage({ autoStart: true });
  await store.transact((tx) =>
    tx.emit({ type: 'stage-created', data: { stageId: waiting, stage: sampleStage({ id: waiting }) } }),
  );
  await scheduler.drain();
  expect(started).toEqual([]); // there is no room
  await session.tell(turnEnded());
  await scheduler.drain();
  expect(started).toEqual([waiting]);
});
