import { expect, it } from 'vitest';
import { filesProblem } from './drafts.ts';

it('says in words when the files of a message are too many, or too large', () => {
  const mib = (n: number) => ({ size: n * 1024 * 1024 });
  expect(filesProblem([mib(10)], [mib(8)])).toBeNull();
  expect(filesProblem([mib(10)], [mib(8.5)])).toBe(
    'A message can take 18 MiB of files at most; these would be 19 MiB.',
  );
  expect(filesProblem(Array(20).fill(mib(0)), [mib(0)])).toContain('20 files at most; these would be 21');
});
