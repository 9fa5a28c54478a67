import type { StageView } from '@callboard/contract';
import { expect, it } from 'vitest';
import { at, board, session, stage } from '../test/samples.ts';
import { dropOn } from './board-commands.ts';

const one = (change = {}, summary?: Record<string, unknown>) =>
  board({
    stages: [
      { stage: stage('STAGE-1', change), ...(summary === undefined ? {} : { session: session('STAGE-1', summary) }) },
    ],
  }).stages[0] as StageView;

it('starts, advances, completes and reopens a stage', () => {
  expect(dropOn(one(), 'running')).toMatchObject({ verb: 'start' });
  expect(dropOn(one({}, { state: 'idle', atGate: true }), 'running')).toMatchObject({ verb: 'advance' });
  expect(dropOn(one({}, { state: 'idle' }), 'done')).toMatchObject({ verb: 'complete' });
  expect(dropOn(one({ completedAt: at(1) }), 'review')).toMatchObject({ verb: 'reopen' });
});

it('refuses an impossible drop with a reason', () => {
  for (const column of ['backlog', 'needs-you', 'review'] as const)
    expect(dropOn(one(), column)).toMatchObject({ kind: 'refused', text: expect.stringContaining('A stage') });
  expect(dropOn(one({ completedAt: at(1) }), 'running')).toMatchObject({ kind: 'refused' });
  expect(dropOn(one({}, { state: 'idle' }), 'running')).toMatchObject({ kind: 'refused' });
  expect(dropOn(one(), 'ready')).toEqual({ kind: 'nothing' });
});
