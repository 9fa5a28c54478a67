import type { DiffSide } from '@callboard/contract';
import { expect, it } from 'vitest';
import { inOrderOf, patchLines, placeComments } from './change-rows.ts';

const lines = patchLines('@@ -1,4 +1,4 @@\n one\n-two\n+2\n three\n four\n');
const file = { version: 'aa..bb' };
const comment = (side: DiffSide, endLine: number, more: object = {}) => ({
  path: 'a.ts',
  side,
  endLine,
  version: side === 'old' ? 'aa' : 'bb',
  quote: 'one',
  ...more,
});
const places = (...comments: ReturnType<typeof comment>[]) => [...placeComments(file, lines, comments).keys()];

it('places comments below their last line, on either side', () => {
  expect(places(comment('new', 2))).toEqual([2]);
  expect(places(comment('old', 2))).toEqual([1]);
  expect(places(comment('old', 3), comment('new', 3))).toEqual([3]);
});

it('keeps comments on lines that the patch does not have at the beginning', () => {
  expect(places(comment('new', 40))).toEqual([-1]);
});

it('looks for the line, the nearest one, if the page shows another content', () => {
  expect(places(comment('new', 9, { version: 'cc', quote: 'two\nthree' }))).toEqual([3]);
  expect(places(comment('new', 1, { version: 'cc', quote: 'gone' }))).toEqual([0]);
});

it('sorts comments as the files are, and by line', () => {
  const all = [
    { path: 'gone.ts', line: 1 },
    { path: 'b.ts', line: 9 },
    { path: 'a.ts', line: 1 },
    { path: 'b.ts', line: 2 },
  ];
  expect(inOrderOf([{ path: 'b.ts' }, { path: 'a.ts' }], all).map(({ path, line }) => `${path} ${line}`)).toEqual([
    'b.ts 2',
    'b.ts 9',
    'a.ts 1',
    'gone.ts 1',
  ]);
});
