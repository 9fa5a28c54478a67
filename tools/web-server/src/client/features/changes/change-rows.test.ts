import { FileDiff } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { changeRows, type PatchLine, pairs, partners, patchLines } from './change-rows.ts';

const PATCH = '@@ -1,4 +1,4 @@\n one\n-two\n-three\n+2\n four\n+5\n';

it('puts a removed line beside the one that replaces it', () => {
  const lines = patchLines(PATCH);
  expect(pairs(lines)).toEqual([
    { kind: 'pair', left: 0, right: 0 },
    { kind: 'pair', left: 1, right: 3 },
    { kind: 'pair', left: 2, right: null },
    { kind: 'pair', left: 4, right: 4 },
    { kind: 'pair', left: null, right: 5 },
  ]);
  expect(partners(lines)).toEqual([null, 3, null, 1, null, null]);
});

const anyLines = fc.array(
  fc
    .constantFrom<PatchLine['kind']>('same', 'removed', 'added', 'gap', 'remark')
    .map((kind): PatchLine => ({ kind, text: '', before: null, after: null })),
  { maxLength: 30 },
);

it('shows every line once on its side, in order, whatever the patch', () => {
  fc.assert(
    fc.property(anyLines, (lines) => {
      const all = pairs(lines);
      const onSide = (side: 'left' | 'right') =>
        all.flatMap((row) => (row.kind === 'line' ? row.at : (row[side] ?? [])));
      const expected = (other: string) => lines.flatMap(({ kind }, at) => (kind === other ? [] : at));
      expect(onSide('left')).toEqual(expected('added'));
      expect(onSide('right')).toEqual(expected('removed'));
      for (const [at, partner] of partners(lines).entries())
        if (partner !== null) expect(partners(lines)[partner]).toBe(at);
    }),
  );
});

const file = (path: string): FileDiff =>
  FileDiff.parse({
    path,
    oldPath: null,
    status: 'modified',
    oldMode: '100644',
    newMode: '100644',
    additions: 1,
    deletions: 0,
    isBinary: false,
  });

it('has a head for each file, and below it what is open and known', () => {
  const files = ['a', 'b', 'c', 'd'].map(file);
  const rows = changeRows({
    files,
    isOpen: ({ path }) => path !== 'a',
    loadedOf: ({ path }) =>
      path === 'b'
        ? { state: 'ready', patch: [PATCH], lines: patchLines(PATCH), isPart: true }
        : path === 'c'
          ? { state: 'failed', error: new Error('no') }
          : { state: 'loading' },
    isSplit: false,
  });
  expect(rows.map(({ file: at, kind }) => `${at} ${kind}`)).toEqual([
    ...['0 file', '1 file', '1 about'],
    ...Array.from({ length: 6 }, () => '1 line'),
    ...['1 more', '2 file', '2 failed', '3 file', '3 loading'],
  ]);
  expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
});
