import type { IndexQuery } from '../../ports/search-index.ts';
import type { SearchTerm } from '../../search/parse-terms.ts';
import {
  type FoundPage,
  type FoundRow,
  FRACTION_DIGITS_OF_MS,
  pageOf,
  resultOf,
  wantedFor,
} from '../../search/result-pages.ts';
import type { Queries } from './search-files.ts';

/** Finds a page of texts in the index, and reads them from the store for their snippets. */
export function findTexts(store: Queries, index: Queries, query: IndexQuery): FoundPage {
  const wanted = wantedFor(query);
  const heads = wanted.heads === null ? [] : findHeads(index, query, wanted.heads);
  const bodies = wanted.before === null ? [] : findBodies(index, query, wanted.before);
  const { shown, next } = pageOf(query, heads, bodies);
  return { results: shown.flatMap((row) => resultOf(row, documentOf(store, row), query)), next };
}

/** Only letters and digits are left in words, and within quotes none of them is an operator. */
const matchOf = (terms: readonly SearchTerm[]): string =>
  terms.map(({ words, isPrefix }) => `"${words.join(' ')}"${isPrefix ? '*' : ''}`).join(' AND ');

/** The filters that both kinds of texts have, with their values. */
function filtersOf({ stageIds, kind, by, since, person }: IndexQuery): { where: string; values: (string | number)[] } {
  const filters: [string, string | number][] = [['(entries.only_for is null or entries.only_for = ?)', person]];
  if (stageIds !== null) filters.push(['stages.id in (select value from json_each(?))', JSON.stringify(stageIds)]);
  if (kind !== undefined) filters.push(['entries.kind = ?', kind]);
  if (by !== undefined) filters.push(['entries.by = ?', by]);
  if (since !== undefined) filters.push(['found.rowid >= ?', Date.parse(since) * FRACTION_DIGITS_OF_MS]);
  return { where: filters.map(([sql]) => ` and ${sql}`).join(''), values: filters.map(([, value]) => value) };
}

const COLUMNS = 'entries.place, stages.id, entries.kind, entries."index", entries.comment, entries.by, entries.tool';
/** In this order: the words have by far the fewest rows. */
const joined = (table: string) =>
  `select ${COLUMNS} from ${table} found cross join entries on entries.place = found.rowid
   cross join stages on stages.ordinal = entries.stage where found.words match ?`;

function findHeads(index: Queries, query: IndexQuery, skipped: number): FoundRow[] {
  const { where, values } = filtersOf(query);
  return index.all<FoundRow>(
    `${joined('heads')}${where} order by entries.kind = 'title' desc, found.rank, found.rowid desc limit ? offset ?`,
    ...[matchOf(query.terms), ...values, query.limit + 1, skipped],
  );
}

function findBodies(index: Queries, query: IndexQuery, before: number): FoundRow[] {
  const { where, values } = filtersOf(query);
  return index.all<FoundRow>(
    `${joined('bodies')}${where} and found.rowid < ? order by found.rowid desc limit ?`,
    ...[matchOf(query.terms), ...values, before, query.limit + 1],
  );
}

function documentOf(store: Queries, { id, index, comment }: FoundRow): string | undefined {
  const one = (sql: string, ...values: (string | number)[]) =>
    store.get<{ document: string }>(sql, ...values)?.document;
  if (comment !== null) return one('select document from comments where stage_id = ? and id = ?', id, comment);
  if (index === null) return one('select document from stages where id = ?', id);
  return one('select document from transcript where stage_id = ? and "index" = ?', id, index);
}
