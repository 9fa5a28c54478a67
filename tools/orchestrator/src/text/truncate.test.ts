import { expect, it } from 'vitest';
import { LONGEST_RAW, shortened, shortenedObject, shortenedRaw } from './truncate.ts';

it('leaves what is short enough as it is', () => {
  expect(shortened('1234', 4)).toBe('1234');
  const object = { text: '1234', list: ['a', 1, null, { deep: true }] };
  expect(shortenedObject(object, 4)).toEqual(object);
  expect(shortenedRaw(object)).toBe(object);
});

it('keeps beginning and end, and says how much is missing', () => {
  expect(shortened('abcdefghij', 4)).toBe('ab\n\n[6 characters are not kept]\n\nij');
});

it('shortens every string, however deep', () => {
  expect(shortenedObject({ list: [{ text: 'abcdef' }] }, 2)).toEqual({
    list: [{ text: 'a\n\n[4 characters are not kept]\n\nf' }],
  });
});

it('keeps of a line that is too long a part of its text', () => {
  const raw = shortenedRaw({ type: 'new', text: 'x'.repeat(LONGEST_RAW) });
  expect(raw).toMatch(/^\{"type":"new".*characters are not kept/s);
});
