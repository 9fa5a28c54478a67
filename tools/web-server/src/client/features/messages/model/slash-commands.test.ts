import type { SlashCommand } from '@callboard/contract';
import { expect, it } from 'vitest';
import { fittingCommands, mayBeCommand } from './slash-commands.ts';

const command = (name: string, aliases: string[] = []): SlashCommand => ({
  name,
  description: '',
  argumentHint: '',
  aliases,
  isBuiltIn: true,
});
const names = (typed: string) =>
  fittingCommands(
    [command('auto-compact'), command('compact'), command('usage', ['cost']), command('init'), command('context')],
    typed,
  ).map(({ name }) => name);

it('offers the commands that begin with what was typed, by any of their names, then those that hold it', () => {
  expect(names('Co')).toEqual(['compact', 'context', 'usage', 'auto-compact']);
  expect(names('')).toHaveLength(5);
  expect(names('nothing-like-it')).toEqual([]);
});

it('takes a slash with a word for a command that may be meant', () => {
  expect(mayBeCommand('/mine with words')).toBe(true);
  expect(mayBeCommand('/ a')).toBe(false);
  expect(mayBeCommand('a /b')).toBe(false);
});
