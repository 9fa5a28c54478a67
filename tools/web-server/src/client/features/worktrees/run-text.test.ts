import type { StageView } from '@callboard/contract';
import { expect, it } from 'vitest';
import { board, session, stage } from '../../test/samples.ts';
import { isolationText, runText, serverAddress, setUpState } from './worktree-commands.tsx';

const view = (summary: Record<string, unknown>, fields: Record<string, unknown> = {}): StageView => {
  const [seen] = board({ stages: [{ stage: stage('S1', fields), session: session('S1', summary) }] }).stages;
  if (seen === undefined) throw new Error('the board is empty');
  return seen;
};
const failed = (code: string | null) => ({
  state: 'failed',
  lastTurn: { outcome: 'failed', at: '2026-01-01T10:00:00.000Z', message: 'x', code },
});

it('says how a run stands', () => {
  expect(runText({ state: 'running', kind: 'setup', reason: null }).text).toBe('Running');
  expect(runText({ state: 'passed', kind: 'cleanup', reason: null })).toEqual({ text: 'Done', tone: 'plain' });
  expect(runText({ state: 'passed', kind: 'server', reason: null }).text).toBe('Ended by itself');
  expect(runText({ state: 'failed', kind: 'setup', reason: 'It ended with exit code 1.' })).toEqual({
    text: 'It ended with exit code 1.',
    tone: 'fail',
  });
  expect(isolationText({ level: 'sandbox', reason: null })).toBe('In Callboard’s sandbox.');
  expect(isolationText({ level: 'none', reason: 'bubblewrap (bwrap) is not installed.' })).toBe(
    'Outside the sandbox. bubblewrap (bwrap) is not installed.',
  );
});

it('tells what keeps Claude from being started', () => {
  expect(setUpState(view({ state: 'starting' }), { state: 'running' })).toBe('running');
  expect(setUpState(view({ state: 'starting' }), null)).toBeNull();
  expect(setUpState(view(failed('setup-failed')), { state: 'failed' })).toBe('failed');
  expect(setUpState(view(failed('fetch-failed')), null)).toBe('no-fetch');
  expect(setUpState(view(failed('settings-invalid')), null)).toBe('bad-file');
  expect(setUpState(view(failed('settings-not-agreed')), null)).toBe('not-agreed');
  expect(setUpState(view(failed(null)), { state: 'failed' })).toBeNull();
  expect(setUpState(view({ state: 'idle' }), { state: 'failed' })).toBeNull();
});

it('opens a server on the host of the page', () => {
  expect(serverAddress(21_340, 'localhost')).toBe('http://localhost:21340/');
  expect(serverAddress(80, '::1')).toBe('http://[::1]:80/');
});
