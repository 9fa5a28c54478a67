import { expect, it } from 'vitest';
import { filesProblem } from './messages.ts';

it('says in words when the files of a message are too many, or too large', () => {
  const megabytes = (n: number) => ({ size: n * 1_000_000 });
  expect(filesProblem([megabytes(10)], [megabytes(8)])).toBeNull();
  expect(filesProblem([megabytes(10)], [megabytes(8.5)])).toBe(
    'A message can take 18 MB of files at most; these would be 19 MB.',
  );
  expect(filesProblem(Array(20).fill(megabytes(0)), [megabytes(0)])).toContain('20 files at most; these would be 21');
});
