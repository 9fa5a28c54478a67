import type { BoardEvent } from '@callboard/contract';
import { expect, it } from 'vitest';
import { at, board, request, stage } from '../test/samples.ts';
import { createRecentEvents } from './recent-events.ts';

const asked = (seq: number, requestId: string): BoardEvent => ({
  type: 'approval-requested',
  seq,
  at: at(seq),
  data: request('STAGE-1', requestId),
});
const view = board({ seq: 5, stages: [{ stage: stage('STAGE-1') }] });

it('applies the events that arrived while the board was loading', () => {
  const recent = createRecentEvents();
  recent.add(asked(5, 'before'));
  recent.add(asked(6, 'a'));
  recent.add(asked(7, 'b'));
  const caughtUp = recent.catchUp(view);
  expect(caughtUp.seq).toBe(7);
  expect(caughtUp.pending.map((p) => p.requestId)).toEqual(['a', 'b']);
});

it('applies a repeated event once, and events in any order', () => {
  const recent = createRecentEvents();
  for (const event of [asked(7, 'b'), asked(6, 'a'), asked(6, 'a')]) recent.add(event);
  expect(recent.catchUp(view).pending.map((p) => p.requestId)).toEqual(['a', 'b']);
});

it('stops before a gap', () => {
  const recent = createRecentEvents();
  recent.add(asked(8, 'late'));
  expect(recent.catchUp(view)).toBe(view);
});
