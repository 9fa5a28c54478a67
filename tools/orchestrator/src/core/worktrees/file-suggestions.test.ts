import { expect, it } from 'vitest';
import { rankFiles } from './repository-files.ts';

const PATHS = [
  'src/login.ts',
  'src/pages/login-form.tsx',
  'login/index.ts',
  'docs/how-to-login.md',
  'src/lists/origin.ts',
];

it('ranks file names that begin with the query first, then folders, then substrings, then letters in order', () => {
  expect(rankFiles(PATHS, 'Login', 20)).toEqual([
    'src/login.ts',
    'src/pages/login-form.tsx',
    'login/index.ts',
    'docs/how-to-login.md',
    'src/lists/origin.ts',
  ]);
  expect(rankFiles(PATHS, 'src/l', 20)).toEqual(['src/login.ts', 'src/lists/origin.ts', 'src/pages/login-form.tsx']);
  expect(rankFiles(PATHS, 'xyz', 20)).toEqual([]);
});

it('starts with top-level files for an empty query, and respects the limit', () => {
  expect(rankFiles(['a/b/c.ts', 'z.ts', 'README.md', 'a/d.ts'], '', 3)).toEqual(['z.ts', 'README.md', 'a/d.ts']);
});

it('finds the best of many files, in any order', () => {
  const many = Array.from({ length: 5_000 }, (_, i) => `src/folder-${i % 70}/component-${i}.ts`);
  const found = rankFiles([...many, 'src/component.ts', 'component/readme.md'], 'component', 3);
  expect(found[0]).toBe('src/component.ts');
  expect(rankFiles(many.toReversed(), 'component-49', 3)).toEqual(rankFiles(many, 'component-49', 3));
});
