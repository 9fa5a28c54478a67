import { z } from 'zod';
import type { SearchTerm } from '../../search/parse-terms.ts';
import type { PgLink } from '../pg-link.ts';
import { rowsOf } from './index-tables.ts';
import { countIn, isRough } from './lexemes.ts';
import { matching } from './match-terms.ts';

/** The constants of BM25, as FTS5 has them: titles and prompts come in the same order from both stores. */
const K1 = 1.2;
const B = 0.75;
const LEAST_IDF = 1e-6;

/** Returns how well a text fits. */
export type Score = (words: readonly string[]) => number;

/** Learns from all titles and prompts how rare each term is. */
export async function createScore(link: PgLink, terms: readonly SearchTerm[]): Promise<Score> {
  const [{ count, tokens } = { count: 0, tokens: 0 }] = await rowsOf(
    link,
    z.object({ count: z.number(), tokens: z.number() }),
    `select count(*) as count, coalesce(sum(length), 0)::bigint as tokens from search_entries where folded is not null`,
  );
  const rarities: number[] = [];
  for (const term of terms) {
    const hits = await hitsOf(link, term);
    rarities.push(Math.max(LEAST_IDF, Math.log((count - hits + 0.5) / (hits + 0.5))));
  }
  return (words) => {
    const weight = K1 * (1 - B + (B * words.length) / (tokens / count));
    return terms.reduce((sum, term, nth) => {
      const found = countIn(words, term);
      return sum + (rarities[nth] ?? 0) * ((found * (K1 + 1)) / (found + weight));
    }, 0);
  };
}

/** In how many titles and prompts a term is. */
async function hitsOf(link: PgLink, term: SearchTerm): Promise<number> {
  const { where, values } = await matching(link, [term]);
  const from = `from search_entries as entries where entries.folded is not null and ${where}`;
  if (!isRough(term)) {
    const [row] = await rowsOf(link, z.object({ count: z.number() }), `select count(*) as count ${from}`, values);
    return row?.count ?? 0;
  }
  const rows = await rowsOf(link, z.object({ folded: z.string() }), `select folded ${from}`, values);
  return rows.filter(({ folded }) => countIn(folded.split(' '), term) > 0).length;
}
