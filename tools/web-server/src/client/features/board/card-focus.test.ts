import { expect, it } from 'vitest';
import { cardAt } from './board-keys.ts';

const COLUMNS = [['a1', 'a2', 'a3'], [], ['c1'], ['d1', 'd2']];
const at = (card: string, key: string) => cardAt(COLUMNS, card, key);

it('moves up and down within a column, and stops at its ends', () => {
  expect(at('a1', 'arrowdown')).toBe('a2');
  expect(at('a2', 'arrowup')).toBe('a1');
  expect(at('a1', 'arrowup')).toBeNull();
  expect(at('a3', 'arrowdown')).toBeNull();
  expect([at('a2', 'home'), at('a2', 'end')]).toEqual(['a1', 'a3']);
});

it('moves to the next column with cards, to the same row or the last one', () => {
  expect(at('a3', 'arrowright')).toBe('c1');
  expect(at('c1', 'arrowright')).toBe('d1');
  expect(at('d2', 'arrowleft')).toBe('c1');
  expect(at('c1', 'arrowleft')).toBe('a1');
  expect(at('d1', 'arrowright')).toBeNull();
});

it('ignores other keys, and elements that are no card', () => {
  expect(at('a1', 'Enter')).toBeNull();
  expect(at('nothing', 'arrowdown')).toBeNull();
});
