import { expect, it } from 'vitest';
import { commandDeps, commandIn, withCheck } from './isolation-text.ts';

it('finds the commands of a message between backticks', () => {
  expect(commandDeps('Run `git init` there, then try again.')).toEqual([
    { text: 'Run ', isCommand: false },
    { text: 'git init', isCommand: true },
    { text: ' there, then try again.', isCommand: false },
  ]);
  expect(commandIn('Run `git init` there, or `git clone`.')).toBe('git init');
  expect(commandIn('The disk is full.')).toBeNull();
});

it('gives each warning one command: its own, or the check of this machine', () => {
  expect(commandIn(withCheck('The disk is full.'))).toBe('npx callboard doctor');
  expect(withCheck('Run `claude update`.')).toBe('Run `claude update`.');
});
