import { FileDiff } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inTreeOrder, treeRows } from './changes-tree.tsx';

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

const drawn = (paths: string[], closed: string[] = []) =>
  treeRows(paths.map(file), new Set(closed)).map(
    ({ depth, name, file: at }) => `${'  '.repeat(depth)}${name}${at === null ? '/' : ''}`,
  );

it('puts folders first, and joins folders that hold one folder only', () => {
  expect(drawn(['src/app/routes/login.ts', 'README.md', 'src/app/routes/a10.ts', 'src/app/routes/a2.ts'])).toEqual([
    'src/app/routes/',
    '  a2.ts',
    '  a10.ts',
    '  login.ts',
    'README.md',
  ]);
  expect(drawn(['a/b/c.ts', 'a/d.ts'])).toEqual(['a/', '  b/', '    c.ts', '  d.ts']);
});

it('leaves out what a closed folder holds', () => {
  expect(drawn(['a/b.ts', 'a/c/d.ts', 'e.ts'], ['a/'])).toEqual(['a/', 'e.ts']);
});

it('shows a name that git has quoted as a path', () => {
  expect(drawn(['"caf\\351/x"', 'a => b', ' end '])).toEqual(['caf⟨\\xe9⟩/', '  x', ' end ', 'a => b']);
});

const paths = fc.uniqueArray(
  fc
    .array(fc.constantFrom('a', 'b', 'c.ts', 'd e', 'Ä'), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join('/')),
);

it('has every file once, under folders that spell its path', () => {
  fc.assert(
    fc.property(paths, (all) => {
      const files = all.map(file);
      const rows = treeRows(files, new Set());
      const trail: string[] = [];
      const found = rows.flatMap((row) => {
        trail.length = row.depth;
        if (row.file === null) {
          trail.push(`${row.name}/`);
          return [];
        }
        expect(trail.join('') + row.name).toBe(files[row.file]?.path);
        return [row.key];
      });
      expect(found).toEqual(inTreeOrder(files).map(({ path }) => path));
      expect(found.toSorted()).toEqual(all.toSorted());
    }),
  );
});
