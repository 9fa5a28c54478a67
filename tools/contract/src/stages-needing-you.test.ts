import { expect, it } from 'vitest';
import { at, board, idle, request, session, stage } from '../test/sample-board.ts';
import { sampleDecision } from '../test/samples.ts';
import { needsYouCount, stagesNeedingYou, stoppedStages } from './notifications.ts';

const decision = ({ stageId, requestId }: { stageId: string; requestId: string }) =>
  sampleDecision({ stageId, requestId, delivery: 'unknown' });

const ids = (stages: readonly { id: string }[]) => stages.map(({ id }) => id);

it('counts each stage once, whatever it needs', () => {
  const view = board({
    stages: [
      { stage: stage('ASKS-3'), session: session('ASKS-3', { state: 'waiting' }) },
      idle('FAILED-1', 'failed'),
      idle('INTERRUPTED-1', 'interrupted'),
      idle('GATE-1', 'succeeded', { atGate: true }),
      { stage: stage('SILENT-1'), session: session('SILENT-1', { state: 'busy', stalledSince: at(1) }) },
      idle('REVIEW-1', 'succeeded'),
      { stage: stage('READY-1') },
    ],
    pending: ['a', 'b', 'c'].map((id) => request('ASKS-3', id)),
    unsettled: [decision(request('FAILED-1', 'd'))],
  });
  expect(ids(stagesNeedingYou(view))).toEqual(['ASKS-3', 'FAILED-1', 'INTERRUPTED-1', 'GATE-1', 'SILENT-1']);
  expect(needsYouCount(view)).toBe(view.stages.filter(({ column }) => column === 'needs-you').length);
  expect(needsYouCount(board({ stages: [idle('REVIEW-1', 'succeeded')] }))).toBe(0);
});

it('counts a completed stage while the delivery of an answer is unknown', () => {
  const done = { stage: stage('DONE-1', { completedAt: at(1) }), session: session('DONE-1', { state: 'ended' }) };
  const view = board({ stages: [done], unsettled: [decision(request('DONE-1', 'a'))] });
  expect(ids(stagesNeedingYou(view))).toEqual(['DONE-1']);
});

it('lists the stages without a request, longest waiting first', () => {
  const view = board({
    stages: [
      idle('FAILED-1', 'failed', { stateSince: at(5) }),
      { stage: stage('ASKS-1'), session: session('ASKS-1', { state: 'waiting' }) },
      { stage: stage('SILENT-1'), session: session('SILENT-1', { state: 'busy', stalledSince: at(2) }) },
      idle('LOST-1', 'interrupted'),
    ],
    pending: [request('ASKS-1', 'a')],
    unsettled: [decision(request('LOST-1', 'b'))],
  });
  expect(ids(stoppedStages(view))).toEqual(['SILENT-1', 'FAILED-1']);
});
