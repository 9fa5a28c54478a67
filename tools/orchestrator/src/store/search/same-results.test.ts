import fc from 'fast-check';
import { expect, it } from 'vitest';
import { postgresLack } from '../../../../../test-support/postgres.ts';
import { openTestSearch, text } from '../../../test/support/test-search.ts';
import type { IndexQuery } from './search-text.ts';

/** Few words, so that they meet; some are beginnings of others, of other scripts, or longer than PostgreSQL indexes whole. */
const LONG = 'x'.repeat(250);
const TEXTS = [
  'a',
  'ab',
  'abc',
  'ABCdef',
  'b',
  'Äb',
  'src/app.ts',
  'app',
  'ts',
  '検索',
  '索',
  '検',
  'ไทย',
  '\u{1F980}',
];
const word = fc.constantFrom(
  ...TEXTS,
  LONG,
  `${LONG}y`,
  "O'Neil",
  'back\\slash',
  'nul\0',
  'half\ud800',
  'STAGE-1',
  'é',
);
const sentence = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '));
const sign = fc.constantFrom('"', '*', '" ', ':', '&', '!', "'", '<->', '%', '_', ' ');
const query = fc
  .array(fc.oneof({ weight: 4, arbitrary: word }, { weight: 1, arbitrary: sign }), { minLength: 1, maxLength: 4 })
  .chain((parts) => fc.constantFrom(parts.join(' '), parts.join(''), `"${parts.join(' ')}"`, parts[0] ?? ''));
const someFilters: fc.Arbitrary<Partial<IndexQuery>> = fc.record(
  {
    kind: fc.constantFrom('title', 'prompt', 'text', 'message', 'comment'),
    by: fc.constantFrom('Ada', 'Eve'),
    person: fc.constantFrom('Ada', 'Eve'),
    since: fc.constantFrom('2026-01-02T00:00:00.000Z', '2026-02-01T00:04:00.000Z'),
    limit: fc.integer({ min: 1, max: 5 }),
  },
  { requiredKeys: [] },
);
const filters = fc.oneof(fc.record({ limit: fc.integer({ min: 1, max: 8 }) }), someFilters);

it.skipIf(postgresLack !== '')(
  `both stores answer every query alike, page after page${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const both = await Promise.all([openTestSearch('SQLite'), openTestSearch('PostgreSQL')]);
    const texts = fc.sample(sentence, { numRuns: 60, seed: 17 });
    for (const { addStage, say, comment } of both) {
      for (let n = 1; n <= 6; n++) {
        const id = await addStage(n, texts[n] ?? '', texts[n + 10]);
        const said = texts.slice(n * 7, n * 7 + 8);
        const message = { kind: 'user', text: texts[n + 1], messageId: null, by: n % 2 === 0 ? 'Ada' : 'Eve' };
        await say(id, 1, ...said.map(text), message);
        await comment(id, `c${n}`, { text: texts[n + 20], author: n % 2 === 0 ? 'Ada' : 'Eve' });
      }
    }
    let found = 0;
    const property = fc.asyncProperty(query, filters, async (q, more) => {
      let before: string | undefined;
      for (let page = 0; page < 4; page++) {
        const [ofSqlite, ofPostgres] = await Promise.all(both.map(({ search }) => search(q, { ...more, before })));
        expect(ofPostgres).toEqual(ofSqlite);
        found += ofSqlite?.results.length ?? 0;
        if (ofSqlite == null || ofSqlite.next === null) return;
        before = ofSqlite.next;
      }
    });
    await fc.assert(property, { numRuns: 250 });
    expect(found).toBeGreaterThan(250); // it compares more than empty pages
  },
);
