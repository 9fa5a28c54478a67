import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cut, displayWidth, indented, padded, safeJson, visibleLine, visibleLines, wrap } from './text.ts';

/** Everything that a terminal may take for a command. */
const COMMANDING = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const ESCAPES = ['\x1b', '\x1b[2J', '\x1b]0;title\x07', '\x9b31m', '\r', '\b', '\x7f', '\u202e', '\x1b[A', '\x1bP'];

const hostile = fc
  .array(fc.oneof(fc.constantFrom(...ESCAPES), fc.string({ unit: 'binary' }), fc.constantFrom('a', ' ', '\n', '\t')))
  .map((parts) => parts.join(''));

it('never lets text command the terminal, whatever it is', () => {
  fc.assert(
    fc.property(
      hostile,
      fc.constantFrom('command', 'code', 'prose'),
      fc.integer({ min: 1, max: 100 }),
      (text, kind, width) => {
        for (const line of [...visibleLines(text, kind), visibleLine(text, kind), cut(visibleLine(text, kind), width)])
          expect(line).not.toMatch(COMMANDING);
        for (const line of indented(visibleLines(text, kind), '  ', width + 2)) expect(line).not.toMatch(COMMANDING);
      },
    ),
    { numRuns: 600 },
  );
});

it('keeps every line within its width and every character', () => {
  fc.assert(
    fc.property(hostile, fc.integer({ min: 2, max: 60 }), (text, width) => {
      const [line = ''] = visibleLines(text, 'command');
      const lines = wrap(line, width);
      for (const one of lines) expect(displayWidth(one)).toBeLessThanOrEqual(width);
      expect(lines.join('').replaceAll(' ', '')).toBe(line.replaceAll(' ', ''));
    }),
    { numRuns: 600 },
  );
});

it('prints JSON that commands no terminal and reads back the same', () => {
  fc.assert(
    fc.property(fc.record({ text: hostile, more: fc.array(hostile) }), (value) => {
      const json = safeJson(value, 2);
      expect(json.replaceAll('\n', '')).not.toMatch(COMMANDING);
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it('shows hidden characters as codes', () => {
  expect(visibleLine('rm \x1b[2K -rf', 'command')).toBe('rm ⟨\\x1b⟩[2K -rf');
  expect(visibleLine('a\nb', 'command')).toBe('a ⏎ b');
  expect(visibleLine('a\r\nb', 'prose')).toBe('a b');
});

it.each([
  ['plain', 5],
  ['日本', 4],
  ['e\u0301', 1],
  ['👍🏽', 2],
  ['\x1b[1mbold\x1b[22m', 4],
])('measures %j as %i columns', (text, width) => expect(displayWidth(text)).toBe(width));

it('breaks at words, and long words anywhere', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrap('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
  expect(wrap('    indented text', 12)).toEqual(['    indented', 'text']);
});

it('cuts and fills by columns', () => {
  expect(cut('日本語', 5)).toBe('日本…');
  expect(cut('short', 5)).toBe('short');
  expect(padded('日本', 6)).toBe('日本  ');
});
