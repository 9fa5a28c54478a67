import type { StageView } from '@callboard/contract';
import { expect, it } from 'vitest';
import { at, board, session, stage } from '../test/samples.ts';
import { continueAction } from './stage-commands.ts';

const one = (summary: Record<string, unknown> | null, change = {}) =>
  board({
    stages: [
      { stage: stage('STAGE-1', change), ...(summary === null ? {} : { session: session('STAGE-1', summary) }) },
    ],
  }).stages[0] as StageView;

const ended = (outcome: string) => ({ outcome, at: at(1), message: null });
const known = { sessionId: '0b5d3bd7-3c0e-4d5f-8f3c-6b0f3a0c9f11' };

it('sends a message to a running process after a failed or interrupted turn', () => {
  for (const outcome of ['failed', 'interrupted'])
    expect(continueAction(one({ state: 'idle', lastTurn: ended(outcome) }))).toEqual({
      by: 'message',
      label: 'Continue',
      does: 'tells Claude “Continue where you left off.”',
    });
});

it('offers nothing if messages are queued, the turn succeeded, or a turn is running', () => {
  expect(continueAction(one({ state: 'idle', lastTurn: ended('failed'), queued: 1, queueHeld: true }))).toBeNull();
  expect(continueAction(one({ state: 'idle', lastTurn: ended('succeeded') }))).toBeNull();
  expect(continueAction(one({ state: 'idle' }))).toBeNull();
  expect(continueAction(one({ state: 'ended', lastTurn: ended('succeeded') }))).toBeNull();
  for (const state of ['starting', 'busy', 'waiting'])
    expect(continueAction(one({ state, lastTurn: ended('failed') }))).toBeNull();
  expect(continueAction(one(null))).toBeNull();
  expect(continueAction(one({ state: 'ended', lastTurn: ended('failed') }, { completedAt: at(2) }))).toBeNull();
});

it('starts a process that has ended, and names its first message', () => {
  const gone = { state: 'ended', lastTurn: ended('interrupted') };
  expect(continueAction(one({ ...gone, ...known }))).toEqual({
    by: 'start',
    label: 'Continue',
    does: 'starts Claude’s process and tells it “Continue where you left off.”',
  });
  expect(continueAction(one({ ...gone, ...known, queued: 2 }))?.does).toBe(
    'starts Claude’s process, with the first message that waits',
  );
  expect(continueAction(one({ state: 'failed' }))).toEqual({
    by: 'start',
    label: 'Start again',
    does: 'starts Claude’s process',
  });
});
