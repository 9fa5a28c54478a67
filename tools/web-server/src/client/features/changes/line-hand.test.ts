import { FileDiff } from '@callboard/contract';
import { expect, it } from 'vitest';
import { changeRows, type Loaded, patchLines } from './change-rows.ts';
import { lineOfRow, nextHand, pickLine, rangeTo } from './line-selection.ts';

const file = (path: string) =>
  FileDiff.parse({
    path,
    oldPath: null,
    status: 'modified',
    oldMode: '100644',
    newMode: '100644',
    isBinary: false,
    additions: 1,
    deletions: 1,
    version: 'aa..bb',
  });
const files = [file('a.ts'), file('b.ts')];
const lines = patchLines('@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n');
const loaded: Loaded = { state: 'ready', patch: [], lines, isPart: false };

function all(isSplit: boolean) {
  const loadedOf = () => loaded;
  return { files, loadedOf, rows: changeRows({ files, isOpen: () => true, loadedOf, isSplit }) };
}

/** The lines that the same key takes in hand, one after another. */
function walk(isSplit: boolean, by: 1 | -1, steps: number, extend = false) {
  const rows = all(isSplit);
  let hand = nextHand(rows, { hand: undefined, first: by > 0 ? 0 : rows.rows.length - 1, by, extend: false })?.hand;
  const seen: string[] = [];
  for (let n = 0; n < steps && hand !== undefined; n += 1) {
    seen.push(`${hand.path} ${hand.side} ${hand.line}-${hand.endLine}`);
    hand = nextHand(rows, { hand, first: 0, by, extend })?.hand ?? hand;
  }
  return seen;
}

it('takes one line after another in hand, on the side where it is, through all files', () => {
  const ofA = ['a.ts new 1-1', 'a.ts old 2-2', 'a.ts new 2-2', 'a.ts new 3-3'];
  expect(walk(false, 1, 5)).toEqual([...ofA, 'b.ts new 1-1']);
  expect(walk(false, -1, 2)).toEqual(['b.ts new 3-3', 'b.ts new 2-2']);
  expect(walk(true, 1, 3)).toEqual(['a.ts new 1-1', 'a.ts new 2-2', 'a.ts new 3-3']);
});

it('extends the lines in hand on their side, and never into another file', () => {
  expect(walk(false, 1, 4, true)).toEqual(['a.ts new 1-1', 'a.ts new 1-2', 'a.ts new 1-3', 'a.ts new 1-3']);
});

it('picks a range with Shift only within one side of one file', () => {
  const rows = all(true);
  const pair = lineOfRow(rows, 3);
  expect(pair).toEqual({ path: 'a.ts', old: 2, new: 2 });
  if (pair === null) return;
  const old = pickLine(pair, 'old');
  expect(rangeTo({ ...old, line: 1, endLine: 1 }, old)).toEqual({ path: 'a.ts', side: 'old', line: 1, endLine: 2 });
  expect(rangeTo({ ...old, side: 'new' }, old)).toEqual(old);
  expect(rangeTo(undefined, old)).toEqual(old);
});
