import { expect, it } from 'vitest';
import { MAX_RAW_LENGTH, truncate, truncateRaw, truncateStrings } from './text.ts';

it('returns short values unchanged', () => {
  expect(truncate('1234', 4)).toBe('1234');
  const object = { text: '1234', list: ['a', 1, null, { deep: true }] };
  expect(truncateStrings(object, 4)).toEqual(object);
  expect(truncateRaw(object)).toBe(object);
});

it('keeps the beginning and the end, and says how much is missing', () => {
  expect(truncate('abcdefghij', 4)).toBe('ab\n\n[6 characters omitted]\n\nij');
});

it('truncates every string, however deep', () => {
  expect(truncateStrings({ list: [{ text: 'abcdef' }] }, 2)).toEqual({
    list: [{ text: 'a\n\n[4 characters omitted]\n\nf' }],
  });
});

it('truncates the JSON text of a long line', () => {
  const raw = truncateRaw({ type: 'new', text: 'x'.repeat(MAX_RAW_LENGTH) });
  expect(raw).toMatch(/^\{"type":"new".*characters omitted/s);
});
