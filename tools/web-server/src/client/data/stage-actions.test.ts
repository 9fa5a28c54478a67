import { expect, it } from 'vitest';
import { at, session, stage } from '../test/samples.ts';
import { stageActions } from './stage-actions.tsx';

const actions = (
  changes: Parameters<typeof stage>[1],
  with_: ReturnType<typeof session> | null = null,
  isHeld = false,
) => stageActions({ ...stage('STAGE-1', changes), session: with_, column: 'ready' }, isHeld, true);
const succeeded = { outcome: 'succeeded', at: at(0), message: null, code: null };

it('are those that a stage has in its state, opening it first and what ends it last', () => {
  expect(actions({})).toEqual(['open', 'start', 'finish', 'hold', 'rename', 'edit', 'delete']);
  expect(actions({ held: true }, null, true)).toContain('release');
  const busy = actions({}, session('STAGE-1', { state: 'busy' }));
  expect(busy).toEqual([
    ...['open', 'changes', 'interrupt', 'hold', 'hold-interrupt', 'rename', 'edit', 'end-session', 'delete'],
  ]);
  expect(actions({}, session('STAGE-1', { state: 'starting' }))).not.toContain('interrupt');
  const idle = session('STAGE-1', { state: 'idle', lastTurn: succeeded });
  expect(actions({}, idle).slice(2, 4)).toEqual(['finish', 'hold']);
  expect(actions({}, { ...idle, atGate: true }).slice(2, 4)).toEqual(['next-phase', 'finish']);
  expect(actions({ completedAt: at(1) })).toEqual(['open', 'reopen', 'rename', 'edit', 'delete']);
});

it('continue a stage that stopped, in its terminal too, and name its branch', () => {
  const worktree = { path: '/w/STAGE-1', branch: 'callboard/STAGE-1', base: 'abc' };
  const stopped = session('STAGE-1', {
    state: 'ended',
    sessionId: 's1',
    lastTurn: { ...succeeded, outcome: 'interrupted' },
  });
  expect(actions({ worktree }, stopped)).toEqual([
    ...['open', 'changes', 'continue', 'finish', 'hold', 'rename', 'edit', 'terminal', 'copy-branch', 'delete'],
  ]);
});

it('only show it while no command can be sent', () => {
  expect(stageActions({ ...stage('STAGE-1'), session: null, column: 'ready' }, false, false)).toEqual(['open']);
});
