import { expect, it } from 'vitest';
import { completionAt, mention, withMention } from './completion.ts';

/** The vertical bar marks the caret. */
const at = (marked: string) => completionAt(marked.replace('|', ''), marked.indexOf('|'));

it('completes a command if the text is only its beginning', () => {
  expect(at('/co|')).toEqual({ kind: 'command', typed: 'co' });
  for (const text of ['a /co|', '/compact |', '/etc/hosts|', '|']) expect(at(text)).toBeNull();
});

it('completes a file after an @ at the start of a word, wherever the caret is', () => {
  expect(at('@|')).toEqual({ kind: 'file', typed: '', from: 0, to: 1 });
  expect(at('See @src/lo| and')).toEqual({ kind: 'file', typed: 'src/lo', from: 4, to: 11 });
  expect(at('See @src|/login.ts and')).toMatchObject({ typed: 'src', from: 4, to: 17 });
  expect(at('two\n@"a b|')).toMatchObject({ typed: 'a b', from: 4 });
  for (const text of ['me@example.org|', '@src/login.ts |', '@"a b" |', 'an @ |']) expect(at(text)).toBeNull();
});

it('replaces the typed text by the path, and puts the caret after it', () => {
  const put = (marked: string, path: string) => {
    const asked = at(marked);
    if (asked?.kind !== 'file') throw new Error('nothing to complete');
    const { text, caret } = withMention(marked.replace('|', ''), asked, path);
    return `${text.slice(0, caret)}|${text.slice(caret)}`;
  };
  expect(put('See @lo| and @x', 'src/login.ts')).toBe('See @src/login.ts |and @x');
  expect(put('@"a b|" and', 'a b.txt')).toBe('@"a b.txt" |and');
  expect(put('See @log|in', 'src/login.ts')).toBe('See @src/login.ts |');
});

it('quotes a path with a space, as Claude Code expects', () => {
  expect(mention('a b.txt')).toBe('@"a b.txt"');
  expect(mention('app/(shop)/[id].tsx')).toBe('@app/(shop)/[id].tsx');
});
