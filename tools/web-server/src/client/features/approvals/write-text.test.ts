import { expect, it } from 'vitest';
import { writeText } from './asked-input.tsx';

it('says only what was known when the request was made', () => {
  expect(writeText({ fileExists: false })).toBe('New file');
  expect(writeText({ fileExists: true })).toBe('Replaces the file');
  expect(writeText({})).toBe('The whole file');
});
