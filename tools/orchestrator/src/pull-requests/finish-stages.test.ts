import { Phase, StageView } from '@callboard/contract';
import { sampleSession, sampleStage } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { turnToFinish } from './finish-stages.ts';

const at = '2026-01-01T10:00:00.000Z';
const phase = (gate: 'none' | 'human') => Phase.parse({ name: 'Build', prompt: 'Build it.', gate });
const finishing = {
  way: 'merge',
  state: 'refused',
  by: 'Callboard',
  at,
  turn: at,
  order: null,
  problem: null,
} as const;

const stage = (fields: object = {}, session: object = {}) =>
  StageView.parse({
    ...sampleStage({ id: 'STAGE-1' }),
    worktree: { path: '/w', branch: 'b', base: 'a'.repeat(40) },
    column: 'review',
    ...fields,
    session: {
      ...sampleSession({ stageId: 'STAGE-1' }),
      ...{ state: 'idle', lastTurn: { outcome: 'succeeded', at, message: null }, queued: 0, ...session },
    },
  });

it('finishes after a turn that ended well, once', () => {
  expect(turnToFinish(stage())).toBe(at);
  expect(turnToFinish(stage({ finishing }))).toBeNull();
  expect(turnToFinish(stage({ finishing: { ...finishing, turn: '2025-12-31T10:00:00.000Z' } }))).toBe(at);
  expect(turnToFinish(stage({ finishing: { ...finishing, state: 'under-way' } }))).toBe(at); // a restart in the middle
  const opening = { ...finishing, way: 'pull-request', state: 'under-way' };
  expect(turnToFinish(stage({ finishing: opening }))).toBeNull();
  expect(turnToFinish(stage({ finishing: { ...opening, turn: null } }))).toBeNull(); // a person has just ordered it
});

it('waits for the last phase, for messages, and for a person where the last gate is theirs', () => {
  expect(turnToFinish(stage({ column: 'needs-you' }))).toBeNull();
  expect(turnToFinish(stage({ worktree: null }))).toBeNull();
  expect(turnToFinish(stage({ completedAt: at }))).toBeNull();
  expect(turnToFinish(stage({}, { queued: 1 }))).toBeNull();
  const gone = { id: '1', messageId: 'm', at, by: 'Ann', from: 1, to: 2, files: true, conversation: true };
  expect(turnToFinish(stage({}, { goneBack: [{ ...gone, canUndo: true }] }))).toBeNull();
  expect(turnToFinish(stage({}, { goneBack: [{ ...gone, canUndo: false }] }))).toBe(at);
  expect(turnToFinish(stage({ pipeline: [phase('none'), phase('none')] }, { phaseIndex: 0 }))).toBeNull();
  expect(turnToFinish(stage({ pipeline: [phase('human'), phase('none')] }, { phaseIndex: 1 }))).toBe(at);
  expect(turnToFinish(stage({ pipeline: [phase('human')] }))).toBeNull();
});
