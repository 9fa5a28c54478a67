import { z } from 'zod';
import type { IndexQuery } from '../../ports/search-index.ts';
import type { SearchTerm } from '../../search/parse-terms.ts';
import { FRACTION_DIGITS_OF_MS } from '../../search/result-pages.ts';
import type { PgLink } from '../pg-link.ts';
import { rowsOf } from './index-tables.ts';
import { queriesOf } from './lexemes.ts';

/** A condition on rows of `search_entries`, named `entries`, with the values of its parameters from $1 on. */
export interface Condition {
  where: string;
  values: unknown[];
}

/** Returns the condition that a text has all terms, or may have them, where one of them is rough. */
export async function matching(link: PgLink, terms: readonly SearchTerm[]): Promise<Condition> {
  const queries = terms.flatMap(queriesOf);
  const long = await longTexts(link, queries);
  const query = queries.join(' & ');
  return long.length === 0
    ? { where: 'entries.words @@ $1::tsquery', values: [query] }
    : { where: '(entries.words @@ $1::tsquery or entries.place = any($2::bigint[]))', values: [query, long] };
}

/** Returns the places of texts whose parts have all of it together. */
async function longTexts(link: PgLink, queries: readonly string[]): Promise<number[]> {
  const distinct = [...new Set(queries)];
  const rows = await rowsOf(
    link,
    z.object({ place: z.number() }),
    `select place from unnest($1::text[]) as wanted(query) join search_parts on words @@ wanted.query::tsquery
     group by place having count(distinct wanted.query) = $2`,
    [distinct, distinct.length],
  );
  return rows.map(({ place }) => place);
}

/** Adds the filters of a search, on `entries` and `stages`. */
export function filtered({ where, values }: Condition, query: IndexQuery): Condition {
  const { stageIds, kind, by, since, person } = query;
  const all: Condition = { where, values: [...values] };
  const add = (sql: (parameter: string) => string, value: unknown) => {
    all.values.push(value);
    all.where += ` and ${sql(`$${all.values.length}`)}`;
  };
  add((p) => `(entries.only_for is null or entries.only_for = ${p})`, person);
  if (stageIds !== null) add((p) => `stages.id = any(${p})`, stageIds);
  if (kind !== undefined) add((p) => `entries.kind = ${p}`, kind);
  if (by !== undefined) add((p) => `entries."by" = ${p}`, by);
  if (since !== undefined) add((p) => `entries.place + 0 >= ${p}`, Date.parse(since) * FRACTION_DIGITS_OF_MS);
  return all;
}
