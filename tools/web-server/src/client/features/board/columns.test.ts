import { needsYouCount } from '@callboard/contract';
import { expect, it } from 'vitest';
import { at, board, decision, request, session, stage } from '../../test/samples.ts';
import { columnCounts, columnStages, countElsewhere } from './columns.ts';

it('sorts stages that wait for their start by priority', () => {
  const view = board({ stages: [{ stage: stage('STAGE-1') }, { stage: stage('STAGE-2', { priority: 0 }) }] });
  expect(columnStages(view, 'ready')).toEqual(['STAGE-2', 'STAGE-1']);
});

it('sorts stages that need a person by waiting time, with or without a request', () => {
  const view = board({
    stages: [
      { stage: stage('STAGE-1'), session: session('STAGE-1', { state: 'waiting', stateSince: at(0) }) },
      { stage: stage('STAGE-2'), session: session('STAGE-2', { state: 'failed', stateSince: at(3) }) },
      { stage: stage('STAGE-3'), session: session('STAGE-3', { state: 'waiting', stateSince: at(0) }) },
    ],
    pending: [request('STAGE-1', 'a', { createdAt: at(5) }), request('STAGE-3', 'b', { createdAt: at(1) })],
  });
  expect(columnStages(view, 'needs-you')).toEqual(['STAGE-3', 'STAGE-2', 'STAGE-1']);
  expect(columnCounts(view)).toMatchObject({ 'needs-you': 3, ready: 0 });
});

it('sorts done stages by completion, latest first', () => {
  const view = board({
    stages: [{ stage: stage('STAGE-1', { completedAt: at(1) }) }, { stage: stage('STAGE-2', { completedAt: at(2) }) }],
  });
  expect(columnStages(view, 'done')).toEqual(['STAGE-2', 'STAGE-1']);
});

it('counts the same in Needs you as in the badge, including cards in other columns', () => {
  const view = board({
    stages: [
      { stage: stage('STAGE-1'), session: session('STAGE-1', { state: 'failed' }) },
      { stage: stage('STAGE-2', { completedAt: at(1) }), session: session('STAGE-2', { state: 'ended' }) },
    ],
    unsettled: [decision(request('STAGE-2', 'a'), { delivery: 'unknown' })],
  });
  expect(columnCounts(view)).toMatchObject({ 'needs-you': needsYouCount(view), done: 1 });
  expect([needsYouCount(view), countElsewhere(view)]).toEqual([2, 1]);
  expect(columnCounts(view, ({ id }) => id === 'STAGE-1')).toMatchObject({ 'needs-you': 1 });
});
