import { expect, it } from 'vitest';
import { quoteOf, reviewMessage } from './comments.ts';

const comment = { path: 'src/a.ts', side: 'new', line: 3, endLine: 3, hasMoved: false, isFinding: false } as const;

it('names file and lines of one comment, with the code in a fence that the code cannot end', () => {
  expect(reviewMessage([{ ...comment, quote: '````js\nx', text: ' Why? \n' }])).toBe(
    'Please address this comment on your changes.\n\nsrc/a.ts, line 3:\n`````\n````js\nx\n`````\nWhy?',
  );
});

it('numbers several comments, and says what is special about each', () => {
  const text = reviewMessage([
    { ...comment, quote: 'one', text: 'First' },
    { ...comment, side: 'old', endLine: 5, quote: 'two', text: 'Second', hasMoved: true },
    { ...comment, quote: 'three', text: 'Third', isFinding: true },
  ]);
  expect(text).toContain(
    'Please address these 3 comments on your changes.\n\n1. src/a.ts, line 3:\n```\none\n```\nFirst',
  );
  expect(text).toContain(
    '2. src/a.ts, lines 3 to 5 (in the version before your changes; this code has changed since):',
  );
  expect(text).toContain('3. src/a.ts, line 3 (from your own review):');
});

it('cuts a quote of many lines in its middle, and long lines at their end', () => {
  const lines = Array.from({ length: 100 }, (_, n) => `line ${n}`);
  const quote = quoteOf(lines).split('\n');
  expect(quote).toHaveLength(41);
  expect([quote[0], quote[30], quote.at(-1)]).toEqual(['line 0', '[60 lines left out]', 'line 99']);
  expect(quoteOf(['x'.repeat(100_000)]).length).toBeLessThan(8_100);
  expect(quoteOf(['a', '', 'b'])).toBe('a\n\nb');
});
