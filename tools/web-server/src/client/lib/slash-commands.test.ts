import type { SlashCommand } from '@callboard/contract';
import { expect, it } from 'vitest';
import { matchingCommands, mayBeCommand } from './completion.ts';

const command = (name: string, aliases: string[] = []): SlashCommand => ({
  name,
  description: '',
  argumentHint: '',
  aliases,
  isBuiltIn: true,
});
const names = (typed: string) =>
  matchingCommands(
    [command('auto-compact'), command('compact'), command('usage', ['cost']), command('init'), command('context')],
    typed,
  ).map(({ name }) => name);

it('offers commands that begin with the typed text, by name or alias, then those that contain it', () => {
  expect(names('Co')).toEqual(['compact', 'context', 'usage', 'auto-compact']);
  expect(names('')).toHaveLength(5);
  expect(names('nothing-like-it')).toEqual([]);
});

it('recognizes a slash and a word as a possible command', () => {
  expect(mayBeCommand('/mine with words')).toBe(true);
  expect(mayBeCommand('/ a')).toBe(false);
  expect(mayBeCommand('a /b')).toBe(false);
});
