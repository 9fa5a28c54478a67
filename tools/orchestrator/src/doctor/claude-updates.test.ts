import type { ClaudeState } from '@callboard/contract';
import { expect, it } from 'vitest';
import { logClaudeUpdates } from './claude-watch.ts';

const states = {
  unknown: { state: 'unknown', why: null, command: null },
  ready: { state: 'ready', why: null, command: null },
  missing: { state: 'missing', why: 'Claude Code was not found.', command: 'npm i' },
  'not-logged-in': { state: 'not-logged-in', why: 'Claude is not logged in.', command: 'claude' },
} satisfies Record<string, ClaudeState>;

it('tells what keeps Claude Code from working, and when that is over', () => {
  const reported: string[] = [];
  let state: ClaudeState = states.unknown;
  const listeners: (() => void)[] = [];
  const login = {
    state: () => state,
    onChange: (listener: () => void) => {
      listeners.push(listener);
      return () => undefined;
    },
  };
  logClaudeUpdates(login, (line) => reported.push(line));
  for (const next of ['ready', 'missing', 'unknown', 'not-logged-in', 'ready', 'unknown'] as const) {
    state = states[next];
    for (const listener of listeners) listener();
  }
  expect(reported).toEqual([
    'Claude Code was not found.',
    'Claude Code was found.',
    'Claude is not logged in.',
    'Claude is logged in.',
  ]);
});
