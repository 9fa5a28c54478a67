import { expect, it } from 'vitest';
import { patchLines } from './change-rows.ts';

it('numbers the lines of each hunk before and after', () => {
  const patch = `diff --git a/a.ts b/a.ts
--- a/a.ts
+++ b/a.ts
@@ -1,3 +1,3 @@
 one
-two
+2
 three
@@ -10 +10,2 @@ function f() {
-ten
+10
+11
`;
  const lines = patchLines(patch).map(({ kind, before, after, text }) => [kind, before, after, text]);
  expect(lines).toEqual([
    ['same', 1, 1, 'one'],
    ['removed', 2, null, 'two'],
    ['added', null, 2, '2'],
    ['same', 3, 3, 'three'],
    ['gap', null, null, 'function f() {'],
    ['removed', 10, null, 'ten'],
    ['added', null, 10, '10'],
    ['added', null, 11, '11'],
  ]);
});

it('does not mistake lines that look like a header', () => {
  const patch = '--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n @@ -1 +1 @@\n\\ No newline at end of file\n';
  expect(patchLines(patch).map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'removed -- old',
    'added ++ new',
    'same @@ -1 +1 @@',
    'remark No newline at end of file',
  ]);
});

it('is empty without hunks', () => {
  expect(patchLines('diff --git a/a b/b\nrename from a\nrename to b\n')).toEqual([]);
});
