import { type StageView, stagesNeedingYou } from '@callboard/contract';
import { expect, it } from 'vitest';
import { at, board, session, stage } from '../test/samples.ts';
import { canAcknowledgeDenial, reasonText, stateLabel, stoppedText } from './stage-status.ts';

const openDenial = { source: 'rule', detail: 'Bash(npm run *)', asked: 'Bash npm run foo', at: at(1) };
const lastTurn = { outcome: 'succeeded', at: at(1), message: null };

function viewOf(change: object, stageChange: Record<string, unknown> = {}) {
  const view = board({
    stages: [
      {
        stage: stage('STAGE-1', stageChange),
        session: session('STAGE-1', { state: 'idle', lastTurn, openDenial, ...change }),
      },
    ],
  });
  const [first] = view.stages;
  if (first === undefined) throw new Error('no stage');
  return { view, stage: first };
}
const text = (one: StageView) => [stateLabel(one, 0, 0).text, stoppedText(one).text, reasonText(one)];

it('says on the card and the page what denied the last call, and what to do', () => {
  const denied = viewOf({});
  expect(denied.stage.column).toBe('needs-you');
  expect(stagesNeedingYou(denied.view)).toHaveLength(1);
  expect(text(denied.stage)).toEqual([
    'Last call denied, needs you',
    'Claude Code denied Bash npm run foo',
    'Claude Code denied the last tool call of the turn, Bash npm run foo: the rule Bash(npm run *). Nobody was asked. Send a message to continue, or press Seen to move the stage to Review.',
  ]);
});

it('says nothing after it was acknowledged, or while a turn is running', () => {
  const seen = viewOf({ openDenial: null });
  expect(stagesNeedingYou(seen.view)).toEqual([]);
  expect(stateLabel(seen.stage, 0, 0).text).toBe('Review');
  expect(stateLabel(viewOf({ state: 'busy' }).stage, 0, 0).text).toBe('Running');
});

it('offers to acknowledge it if nothing else is needed', () => {
  expect(canAcknowledgeDenial(viewOf({}).stage)).toBe(true);
  expect(canAcknowledgeDenial(viewOf({ state: 'ended' }).stage)).toBe(true);
  expect(canAcknowledgeDenial(viewOf({ state: 'busy' }).stage)).toBe(false);
  expect(canAcknowledgeDenial(viewOf({ atGate: true }).stage)).toBe(false);
  expect(canAcknowledgeDenial(viewOf({ openDenial: null }).stage)).toBe(false);
  expect(canAcknowledgeDenial(viewOf({}, { completedAt: at(2) }).stage)).toBe(false);
});
