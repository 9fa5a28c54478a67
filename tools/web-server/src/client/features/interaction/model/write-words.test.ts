import { expect, it } from 'vitest';
import { writeWords } from './write-words.ts';

it('says only what was known when the request was made', () => {
  expect(writeWords({ fileExists: false })).toBe('New file');
  expect(writeWords({ fileExists: true })).toBe('Replaces the file');
  expect(writeWords({})).toBe('The whole file');
});
