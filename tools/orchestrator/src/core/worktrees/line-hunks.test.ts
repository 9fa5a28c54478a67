import fc from 'fast-check';
import { expect, it } from 'vitest';
import { followLines, type LineHunk, lineHunks } from './file-changes.ts';

it('reads the hunks of a diff whose lines look like heads of hunks', () => {
  const diff =
    '--- a\n+++ b\n@@ -3 +3,2 @@ x\n-@@ -9 +9 @@\n+a\n+b\n\\ No newline at end of file\n@@ -9,2 +10,0 @@\n-x\n-y\n';
  expect(lineHunks(diff)).toEqual([
    { from: 3, before: 1, to: 3, after: 2 },
    { from: 9, before: 2, to: 10, after: 0 },
  ]);
});

it.each([
  ['lines added above', [{ from: 1, before: 0, to: 2, after: 3 }], { line: 8, endLine: 9, hasMoved: false }],
  ['lines added right above', [{ from: 4, before: 0, to: 5, after: 1 }], { line: 6, endLine: 7, hasMoved: false }],
  ['lines added right below', [{ from: 6, before: 0, to: 7, after: 1 }], { line: 5, endLine: 6, hasMoved: false }],
  ['lines added between', [{ from: 5, before: 0, to: 6, after: 1 }], { line: 5, endLine: 7, hasMoved: true }],
  ['a changed line', [{ from: 6, before: 1, to: 6, after: 1 }], { line: 5, endLine: 6, hasMoved: true }],
  ['all lines removed', [{ from: 5, before: 2, to: 4, after: 0 }], { line: 4, endLine: 4, hasMoved: true }],
  ['everything replaced', [{ from: 1, before: 9, to: 1, after: 1 }], { line: 1, endLine: 1, hasMoved: true }],
])('follows lines 5 and 6 after %s', (_, hunks, expected) => {
  expect(followLines(hunks, { line: 5, endLine: 6 })).toEqual(expected);
});

it('moves untouched lines with their content, and marks all others, whatever the edits', () => {
  const step = fc.oneof(
    fc.record({ save: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ before: fc.integer({ min: 0, max: 3 }), after: fc.integer({ min: 0, max: 3 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), fc.nat(), fc.nat(3), (steps, start, more) => {
      const hunks: LineHunk[] = [];
      const locationOf = new Map<number, number>(); // by old line: the new one of a kept line
      let [old, now] = [1, 1];
      for (const one of [{ save: 1 }, ...steps, { save: 1 }]) {
        if ('save' in one) {
          for (let n = 0; n < one.save; n += 1) locationOf.set(old + n, now + n);
          [old, now] = [old + one.save, now + one.save];
        } else if (one.before + one.after > 0 && locationOf.has(old - 1)) {
          // As git writes it: of no lines, the one that they follow.
          const from = one.before === 0 ? old - 1 : old;
          hunks.push({ from, before: one.before, to: one.after === 0 ? now - 1 : now, after: one.after });
          [old, now] = [old + one.before, now + one.after];
        }
      }
      const line = 1 + (start % (old - 1));
      const endLine = Math.min(line + more, old - 1);
      const after = Array.from({ length: endLine - line + 1 }, (_, n) => locationOf.get(line + n));
      const isUntouched = after.every((place, n) => place !== undefined && place === (after[0] ?? 0) + n);
      const found = followLines(hunks, { line, endLine });
      expect(found.hasMoved).toBe(!isUntouched);
      if (isUntouched) expect([found.line, found.endLine]).toEqual([after[0], after.at(-1)]);
      expect(found.line).toBeGreaterThan(0);
      expect(found.endLine).toBeGreaterThanOrEqual(found.line);
    }),
    { numRuns: 500 },
  );
});
