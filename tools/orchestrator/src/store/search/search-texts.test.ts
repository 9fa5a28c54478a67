import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutSnippet } from './result-pages.ts';
import { foldText, parseTerms, wordsOf } from './search-text.ts';

const reported = (query: string) =>
  parseTerms(query).map(({ words, isPrefix }) => `${words.join(' ')}${isPrefix ? '*' : ''}`);

describe('a query', () => {
  it.each([
    ['rate lim', ['rate', 'lim*']],
    ['rate limit ', ['rate', 'limit']],
    ['"rate limit"', ['rate limit']],
    ['"rate lim', ['rate lim*']],
    ['migr* table ', ['migr*', 'table']],
    ['src/app.ts STAGE-12 ', ['src app ts', 'stage 12']],
    ['foo_bar', ['foo bar*']],
    ['Crème “brûlée”', ['creme', 'brulee']],
    ['a', ['a']],
    ['* " -- ()', []],
    ['', []],
  ])('%j asks for %j', (query, terms) => {
    expect(reported(query)).toEqual(terms);
  });

  it('has only letters and digits in its words, whatever was typed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (query) => {
        for (const { words } of parseTerms(query)) {
          expect(words.length).toBeGreaterThan(0);
          for (const word of words) expect(word).toMatch(/^[\p{L}\p{N}\p{Co}]+$/u);
        }
      }),
    );
  });
});

describe('a folded text', () => {
  it('has the same words as the text, also where it is folded whole', () => {
    const ofIndex = (text: string) => foldText(text).match(/[a-z0-9\u{80}-\u{10ffff}]+/giu) ?? [];
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(ofIndex(text)).toEqual(Array.from(wordsOf(text), ({ word }) => word));
      }),
    );
  });
});

describe('a snippet', () => {
  it('marks whole words that were asked for, within itself and in order', () => {
    const word = fc.constantFrom('alpha', 'Älpha', 'beta', 'gamma', '検索', '\n', '—', '😀', 'x'.repeat(90));
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 120 }),
        fc.constantFrom('alpha', 'alp', 'beta alpha ', '"beta gamma"'),
        (words, query) => {
          const { snippet, marks } = cutSnippet(words.join(' '), parseTerms(query));
          let last = 0;
          for (const [from, to] of marks) {
            expect(from).toBeGreaterThanOrEqual(last);
            expect(to).toBeGreaterThan(from);
            expect(snippet.slice(from, to)).toMatch(/^(Älpha|alpha|beta|beta[^\p{L}\p{N}]+gamma)$/u);
            last = to;
          }
          expect(snippet.length).toBeLessThanOrEqual(202);
          if (words.includes('alpha') && query === 'alp') expect(marks.length).toBeGreaterThan(0);
        },
      ),
    );
  });

  it('takes the place where all words stand', () => {
    const text = `alpha ${'x '.repeat(500)} beta ${'y '.repeat(500)} alpha and beta ${'z '.repeat(500)}`;
    expect(cutSnippet(text, parseTerms('alpha beta ')).snippet).toContain('alpha and beta');
  });
});
