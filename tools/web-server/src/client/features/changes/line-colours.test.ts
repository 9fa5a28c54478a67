import fc from 'fast-check';
import { expect, it } from 'vitest';
import { highlight } from '../../lib/highlighter.ts';
import { changedRanges, createLineColours, type PatchLine, patchLines, withChanges } from './change-rows.ts';

const typescript = (text: string) => highlight(text, 'typescript');
const message = (own: string, other: string) => changedRanges(own, other).map(([from, to]) => own.slice(from, to));

it('marks the words that changed, and nothing in a line that is another one', () => {
  expect(message('const [row] = rows;', 'const row = rows[0];')).not.toEqual([]);
  expect(message('return total + tax;', 'return total;')).toEqual([' + tax']);
  expect(message('import { a } from "b";', '// nothing of it')).toEqual([]);
});

it('colours a comment of several lines, before and after', () => {
  const lines = patchLines('@@ -1,4 +1,4 @@\n /* one\n-two\n+2\n three */\n');
  const colours = createLineColours(lines, typescript);
  for (const at of [0, 1, 2, 3]) {
    expect(colours(at)).toEqual([{ text: lines[at]?.text, className: 'hljs-comment' }]);
  }
});

it('never changes a text, whatever its colours, words and place', () => {
  const text = fc.string({ unit: fc.constantFrom(...'ab "\'`/*{}$\t1;\u202e') });
  const kind = fc.constantFrom<PatchLine['kind']>('same', 'removed', 'added');
  const anyLines = fc.array(fc.record({ kind, text, before: fc.constant(null), after: fc.constant(null) }), {
    maxLength: 250,
  });
  fc.assert(
    fc.property(anyLines, text, (lines, other) => {
      const colours = createLineColours(lines, typescript);
      for (const [at, line] of lines.entries()) {
        const pieces = withChanges(colours(at), changedRanges(line.text, other));
        expect(pieces.map((piece) => piece.text).join('')).toBe(line.text);
        const changed = pieces.filter(({ isChanged }) => isChanged).map((piece) => piece.text);
        expect(changed.join('')).toBe(message(line.text, other).join(''));
      }
    }),
    { numRuns: 40 },
  );
});
