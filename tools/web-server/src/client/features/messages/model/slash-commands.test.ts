import { expect, it } from 'vitest';
import { completions, mayBeCommand } from './slash-commands.ts';

it('offers the commands that begin with what was typed', () => {
  expect(completions('/co').map((command) => command.name)).toEqual(['/compact', '/context', '/cost']);
  expect(completions('/').length).toBeGreaterThan(5);
});

it('offers nothing in a sentence, a path or after a complete word', () => {
  for (const text of ['', 'a /co', '/compact ', '/etc/hosts', '/nothing-like-it'])
    expect(completions(text)).toEqual([]);
});

it('takes a slash with a word for a command that may be meant', () => {
  expect(mayBeCommand('/mine with words')).toBe(true);
  expect(mayBeCommand('/ a')).toBe(false);
  expect(mayBeCommand('a /b')).toBe(false);
});
