import { IsolationReason } from '@callboard/contract';
import { expect, it } from 'vitest';
import { isolationWords, ranWithoutAsking, supportWords } from './isolation-words.ts';

it('says "prevented" only of a session whose commands are prevented', () => {
  const prevented = isolationWords({ level: 'prevented', reason: 'sandboxed', detail: null });
  expect(prevented).toEqual({
    label: 'Sandboxed',
    why: 'Claude’s commands run in a sandbox.',
    means: 'Commands cannot approve their own requests.',
    next: null,
  });
  for (const reason of IsolationReason.exclude(['sandboxed']).options) {
    const words = isolationWords({ level: 'noticed', reason, detail: null });
    expect(words.label).not.toBe(prevented.label);
    expect(words.means).toContain('notices');
    expect(words.next).not.toBeNull();
  }
});

it('adds the detail to the reason', () => {
  const words = isolationWords({ level: 'noticed', reason: 'command-left', detail: 'It was: docker ps' });
  expect(words.label).toBe('Left the sandbox');
  expect(words.why).toBe('A command was allowed to run outside the sandbox. It was: docker ps');
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
  expect(supportWords({ state: 'fails', why: 'bwrap is missing.', how })).toEqual({
    why: 'bwrap is missing.',
    how: [
      { text: 'On Debian, run', isCommand: false },
      { text: 'sudo apt-get install bubblewrap socat', isCommand: true },
    ],
  });
  expect(supportWords({ state: 'fails', why: null, how: null })).toEqual({
    why: 'A trial command in it failed.',
    how: [],
  });
  for (const state of ['works', 'untried'] as const) expect(supportWords({ state, why: null, how: null })).toBeNull();
});
