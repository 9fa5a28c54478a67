import { type Column, type SessionState, StageView } from '@callboard/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { asked, busyTestSession, turnEnded } from '../../test/support/test-session.ts';
import { openTestStore, sampleStage, silent } from '../../test/support/test-store.ts';
import { pickRunnable, startScheduler } from './scheduler.ts';

const AT = '2026-01-02T03:04:05.000Z';

interface Given {
  column?: Column;
  autoStart?: boolean;
  priority?: number;
  state?: SessionState;
}

function stage(id: string, { column = 'ready', autoStart = true, priority = 2, state }: Given = {}): StageView {
  const session = {
    ...{ stageId: id, state, stateSince: AT, mode: 'default', model: null, sessionId: null, launchId: null },
    ...{
      startedAt: AT,
      lastTurn: null,
      lastAction: null,
      costUsd: 0,
      backgroundTasks: [],
      queued: 0,
      queueHeld: false,
    },
  };
  return StageView.parse({
    ...sampleStage({ id, autoStart, priority }),
    column,
    session: state === undefined ? null : session,
  });
}

describe('pickRunnable', () => {
  it('picks ready stages that start automatically', () => {
    const stages = [
      stage('ready'),
      stage('by-hand', { autoStart: false }),
      stage('blocked', { column: 'backlog' }),
      stage('done', { column: 'done' }),
    ];
    expect(pickRunnable({ stages }, 4)).toEqual(['ready']);
  });

  it('picks the most urgent first, and the older among equals', () => {
    const stages = [stage('a', { priority: 5 }), stage('b', { priority: 0 }), stage('c', { priority: 5 }), stage('d')];
    expect(pickRunnable({ stages }, 4)).toEqual(['b', 'd', 'a', 'c']);
    expect(pickRunnable({ stages }, 2)).toEqual(['b', 'd']);
  });

  it('counts working sessions, not idle ones or ones that wait for a person', () => {
    const working = [
      stage('s', { column: 'running', state: 'starting' }),
      stage('b', { column: 'running', state: 'busy' }),
    ];
    const resting = [
      stage('w', { column: 'needs-you', state: 'waiting' }),
      stage('i', { column: 'review', state: 'idle' }),
      stage('e', { column: 'review', state: 'ended' }),
    ];
    const ready = [stage('one'), stage('two')];
    expect(pickRunnable({ stages: [...working, ...resting, ...ready] }, 3)).toEqual(['one']);
    expect(pickRunnable({ stages: [...working, ...ready] }, 1)).toEqual([]);
  });
});

it('reads the board when a session stops working, not at its other steps or when it resumes work', async () => {
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

it('ignores free capacity while no stage is ready, and uses it when one may be ready', async () => {
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
