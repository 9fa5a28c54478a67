import { expect, it } from 'vitest';
import { lineDiff } from './code.tsx';

const show = (before: string, after: string) =>
  lineDiff(before, after).map(({ kind, text }) => `${{ same: ' ', removed: '-', added: '+' }[kind]}${text}`);

it('shows changed lines between unchanged ones', () => {
  expect(show('a\nb\nc', 'a\nx\nc')).toEqual([' a', '-b', '+x', ' c']);
  expect(show('a\nb\nc\nd', 'a\nn\nb\nc\nm\nd')).toEqual([' a', '+n', ' b', ' c', '+m', ' d']);
});

it('limits the context to a few lines', () => {
  const many = Array.from({ length: 9 }, (_, i) => `l${i}`).join('\n');
  expect(show(`${many}\nold`, `${many}\nnew`)).toEqual([' l6', ' l7', ' l8', '-old', '+new']);
});

it('shows a new text as added and an empty one as removed', () => {
  expect(show('', 'a\nb\n')).toEqual(['+a', '+b']);
  expect(show('a', '')).toEqual(['-a']);
  expect(show('a', 'a')).toEqual([' a']);
});

it('does not look for common lines in very long texts', () => {
  const lines = (prefix: string) => Array.from({ length: 700 }, (_, i) => `${prefix}${i}`).join('\n');
  expect(lineDiff(lines('a'), lines('b'))).toHaveLength(1400);
});
