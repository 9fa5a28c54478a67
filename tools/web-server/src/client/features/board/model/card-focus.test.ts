import { expect, it } from 'vitest';
import { cardAt } from './card-focus.ts';

const COLUMNS = [['a1', 'a2', 'a3'], [], ['c1'], ['d1', 'd2']];
const at = (card: string, key: string) => cardAt(COLUMNS, card, key);

it('moves up and down within a column, and stops at its ends', () => {
  expect(at('a1', 'ArrowDown')).toBe('a2');
  expect(at('a2', 'ArrowUp')).toBe('a1');
  expect(at('a1', 'ArrowUp')).toBeNull();
  expect(at('a3', 'ArrowDown')).toBeNull();
  expect([at('a2', 'Home'), at('a2', 'End')]).toEqual(['a1', 'a3']);
});

it('moves to the next column with cards, to the same row or the last one', () => {
  expect(at('a3', 'ArrowRight')).toBe('c1');
  expect(at('c1', 'ArrowRight')).toBe('d1');
  expect(at('d2', 'ArrowLeft')).toBe('c1');
  expect(at('c1', 'ArrowLeft')).toBe('a1');
  expect(at('d1', 'ArrowRight')).toBeNull();
});

it('ignores other keys, and elements that are no card', () => {
  expect(at('a1', 'Enter')).toBeNull();
  expect(at('nothing', 'ArrowDown')).toBeNull();
});
