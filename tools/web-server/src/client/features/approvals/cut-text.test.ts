import { expect, it } from 'vitest';
import { cutText } from './asked-input.tsx';

function shown(text: string, columns: number, rows: number) {
  const cut = cutText(text, columns, rows);
  return cut && [text.slice(0, cut.headEnd), cut.hidden, text.slice(cut.tailStart)];
}

const lines = (n: number) => Array.from({ length: n }, (_, i) => `line ${i + 1}`).join('\n');

it('leaves a text whole if it fits', () => {
  expect(cutText('npm i', 80, 12)).toBeNull();
  expect(cutText(lines(13), 80, 12)).toBeNull();
});

it('shows the first and last lines, and counts the hidden ones', () => {
  expect(shown(lines(60), 80, 8)).toEqual([
    'line 1\nline 2\nline 3\nline 4\n',
    '53 more lines',
    'line 58\nline 59\nline 60',
  ]);
});

it('shows the end of a single long line, and counts hidden characters', () => {
  const text = `for f in ${'x'.repeat(991)} && rm -rf build`;
  const [head, hidden, tail] = shown(text, 20, 8) ?? [];
  expect(head).toHaveLength(80);
  expect(tail).toMatch(/ && rm -rf build$/);
  expect(tail).toHaveLength(60);
  expect(hidden).toBe(`${text.length - 140} more characters`);
});

it('shows the whole last line even if the line before it is long', () => {
  const [, , tail] = shown(`${'x'.repeat(2_000)}\nrm -rf build`, 20, 8) ?? [];
  expect(tail).toBe('rm -rf build');
});
