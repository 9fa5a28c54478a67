import { type Column, type SessionState, StageView } from '@callboard/contract';
import { expect, it } from 'vitest';
import { sampleStage } from '../../test/support/test-store.ts';
import { pickRunnable } from './pick-runnable.ts';

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

it('picks the stages that are ready and start by themselves', () => {
  const stages = [
    stage('ready'),
    stage('by-hand', { autoStart: false }),
    stage('blocked', { column: 'backlog' }),
    stage('done', { column: 'done' }),
  ];
  expect(pickRunnable({ stages }, 4)).toEqual(['ready']);
});

it('picks the most urgent first, and of equals the older', () => {
  const stages = [stage('a', { priority: 5 }), stage('b', { priority: 0 }), stage('c', { priority: 5 }), stage('d')];
  expect(pickRunnable({ stages }, 4)).toEqual(['b', 'd', 'a', 'c']);
  expect(pickRunnable({ stages }, 2)).toEqual(['b', 'd']);
});

it('counts the sessions that work, and not those that wait for a person or are idle', () => {
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
