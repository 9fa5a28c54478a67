import { IsolationReason } from '@callboard/contract';
import { expect, it } from 'vitest';
import { isolationText, ranWithoutAsking, supportText } from './isolation-text.ts';

it('says "prevented" only of a session whose commands are prevented', () => {
  const prevented = isolationText({ level: 'prevented', reason: 'sandboxed', detail: null });
  expect(prevented).toEqual({
    label: 'Sandboxed',
    why: 'Claude’s commands run in a sandbox.',
    means: 'Commands cannot approve their own requests.',
    next: null,
  });
  for (const reason of IsolationReason.exclude(['sandboxed']).options) {
    const text = isolationText({ level: 'noticed', reason, detail: null });
    expect(text.label).not.toBe(prevented.label);
    expect(text.means).toContain('notices');
    expect(text.next).not.toBeNull();
  }
});

it('adds the detail to the reason', () => {
  const text = isolationText({ level: 'noticed', reason: 'command-left', detail: 'It was: docker ps' });
  expect(text.label).toBe('Left the sandbox');
  expect(text.why).toBe('A command was allowed to run outside the sandbox. It was: docker ps');
});

it('counts the commands that ran without asking', () => {
  expect([0, 1, 12].map(ranWithoutAsking)).toEqual([
    '',
    '1 command ran without asking',
    '12 commands ran without asking',
  ]);
});

it('splits the instructions into text and commands', () => {
  const how = 'On Debian, run `sudo apt-get install bubblewrap socat`.';
  expect(supportText({ state: 'fails', why: 'bwrap is missing.', how })).toEqual({
    why: 'bwrap is missing.',
    how: [
      { text: 'On Debian, run', isCommand: false },
      { text: 'sudo apt-get install bubblewrap socat', isCommand: true },
    ],
  });
  expect(supportText({ state: 'fails', why: null, how: null })).toEqual({
    why: 'A trial command in it failed.',
    how: [],
  });
  for (const state of ['works', 'untried'] as const) expect(supportText({ state, why: null, how: null })).toBeNull();
});
