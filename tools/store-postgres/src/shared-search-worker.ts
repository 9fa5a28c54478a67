import { parentPort, workerData } from 'node:worker_threads';
import { CommentId, SearchKind, StageId } from '@callboard/contract';
import {
  type FoundPage,
  type FoundRow,
  FRACTION_DIGITS_OF_MS,
  type IndexQuery,
  pageOf,
  resultOf,
  type SearchAnswer,
  type SearchRequest,
  type SearchTerm,
  textOfRow,
  wantedFor,
  wordsOf,
} from '@callboard/orchestrator/search';
import { storageErrorOf } from '@callboard/orchestrator/storage-error';
import { messageOf } from '@callboard/runtime/errors';
import { z } from 'zod';
import { countIn, fillIndex, isRough, progressOf, queriesOf, requireIndex, rowsOf } from './fill-index.ts';
import { createConnect, createServerHistory, type PgLink } from './pg-link.ts';
import type { IndexThreadData } from './postgres-store.ts';

/** The thread of the index, with a connection of its own: folding words would hold up the event loop. */

/** After the server's disk was full, nothing is written for this long. */
const FULL_MS = 15_000;
/** When to look again if another machine is writing. */
const BUSY_MS = 1_000;

const { address, historyFile } = workerData as IndexThreadData; // of the same build
const history = createServerHistory(historyFile === null ? null : { path: historyFile, writer: null });
const connect = createConnect(address, history);
let current: PgLink | null = null;
let full: { until: number; text: string } | null = null;

async function linkToIndex(): Promise<PgLink> {
  if (current !== null && !current.isBroken()) return current;
  const link = await connect();
  try {
    await link.queryAll('set enable_seqscan = off'); // it would read the words of every entry
    await requireIndex(link);
  } catch (error) {
    await link.end();
    throw error;
  }
  current = link;
  return link;
}

async function answer(request: SearchRequest): Promise<SearchAnswer> {
  const begun = performance.now();
  try {
    const link = await linkToIndex();
    const { failure, isBusy } = await catchUp(link, request.forMs);
    const found = request.type === 'search' ? await findInIndex(link, request.query) : null;
    const indexing = await progressOf(link);
    if (found !== null) return { type: 'found', reply: { ...found, indexing }, failure };
    const tookMs = performance.now() - begun;
    return { type: 'worked', indexing, tookMs: isBusy ? BUSY_MS : tookMs, failure };
  } catch (error) {
    return { type: 'failed', failure: failureText(error) };
  }
}

/** What is indexed already can be found also while nothing can be written. */
async function catchUp(link: PgLink, forMs: number): Promise<{ failure: string | null; isBusy: boolean }> {
  if (full !== null && performance.now() < full.until) return { failure: full.text, isBusy: false };
  full = null;
  try {
    return { failure: null, isBusy: await fillIndex(link, forMs) };
  } catch (error) {
    if (link.isBroken()) throw error;
    const text = failureText(error);
    if (storageErrorOf(error)?.isDiskFull) full = { until: performance.now() + FULL_MS, text };
    return { failure: text, isBusy: false };
  }
}

/** It becomes the end of a sentence. */
const failureText = (error: unknown): string => (storageErrorOf(error)?.text ?? messageOf(error)).replace(/\.$/, '');

let last: Promise<void> = Promise.resolve();
parentPort?.on('message', (request: SearchRequest) => {
  last = last.then(async () => parentPort?.postMessage(await answer(request)));
});

/** Rows whose texts are read at once. A text has two million characters at most. */
const CHECKED_AT_ONCE = 20;

const Row = z.object({
  place: z.number(),
  id: StageId,
  kind: SearchKind,
  index: z.number().nullable(),
  comment: CommentId.nullable(),
  by: z.string().nullable(),
  tool: z.string().nullable(),
});
const Head = Row.extend({ folded: z.string() });

/**
 * Stages are joined from the store itself: what was deleted is not found, even before the index has noticed. `+ 0` keeps PostgreSQL from
 * going through the entries by place or stage, which reads the words of each: it does not know how rare a word is that is not common.
 */
const from = (columns: string) =>
  `select entries.place, stages.id, entries.kind, entries."index", entries.comment, entries."by", entries.tool${columns}
   from search_entries as entries join stages on stages.ordinal = entries.stage + 0`;

/** Finds a page of texts in the index, and reads them from the store for their snippets. */
export async function findInIndex(link: PgLink, query: IndexQuery): Promise<FoundPage> {
  const wanted = wantedFor(query);
  const condition = filtered(await matching(link, query.terms), query);
  const heads = wanted.heads === null ? [] : await findHeads(link, query, condition, wanted.heads);
  const bodies = wanted.before === null ? [] : await findBodies(link, query, condition, wanted.before);
  const { shown, next } = pageOf(query, heads, bodies);
  const documents = await documentsOf(link, shown);
  return { results: shown.flatMap((row, nth) => resultOf(row, documents[nth], query)), next };
}

/** Titles before prompts; prompts are read only if there are not enough titles. */
async function findHeads(
  link: PgLink,
  query: IndexQuery,
  { where, values }: Condition,
  skipped: number,
): Promise<FoundRow[]> {
  const rough = query.terms.filter(isRough);
  const found: FoundRow[] = [];
  for (const kind of ['title', 'prompt']) {
    const text = `${from(', entries.folded')} where entries.folded is not null and entries.kind = '${kind}' and ${where}`;
    const rows = (await rowsOf(link, Head, text, values))
      .map((row) => ({ ...row, words: row.folded.split(' ') }))
      .filter(({ words }) => rough.every((term) => countIn(words, term) > 0));
    const score = rows.length > 1 ? await createScore(link, query.terms) : () => 0;
    const ranked = rows.map((row) => ({ row, score: score(row.words) }));
    ranked.sort((one, other) => other.score - one.score || other.row.place - one.row.place);
    found.push(...ranked.map(({ row }) => row));
    if (found.length > skipped + query.limit) break;
  }
  return found.slice(skipped, skipped + query.limit + 1);
}

async function findBodies(
  link: PgLink,
  query: IndexQuery,
  { where, values }: Condition,
  before: number,
): Promise<FoundRow[]> {
  const isExact = !query.terms.some(isRough);
  const most = isExact ? query.limit + 1 : CHECKED_AT_ONCE;
  const text = `${from('')} where entries.folded is null and ${where} and entries.place + 0 < $${values.length + 1}
    order by entries.place + 0 desc limit ${most}`;
  const found: FoundRow[] = [];
  for (let last = before; ; ) {
    const rows = await rowsOf(link, Row, text, [...values, last]);
    found.push(...(isExact ? rows : await withTerms(link, rows, query)));
    if (rows.length < most || found.length > query.limit) return found.slice(0, query.limit + 1);
    last = rows.at(-1)?.place ?? 0;
  }
}

/** Keeps those whose text has all terms, as it is in the store. */
async function withTerms(link: PgLink, rows: readonly FoundRow[], { terms, person }: IndexQuery): Promise<FoundRow[]> {
  const documents = await documentsOf(link, rows);
  return rows.filter((row, nth) => {
    const document = documents[nth];
    const text = document === undefined ? null : textOfRow(row, document, person)?.text;
    if (text == null) return false;
    const words = Array.from(wordsOf(text), ({ word }) => word);
    return terms.every((term) => countIn(words, term) > 0);
  });
}

const Found = z.object({ nth: z.number(), document: z.string() });

/** Returns what the store has of each row: its stage, entry or comment; undefined if it is gone. */
async function documentsOf(link: PgLink, rows: readonly FoundRow[]): Promise<(string | undefined)[]> {
  if (rows.length === 0) return [];
  const found = await rowsOf(
    link,
    Found,
    `select nth, coalesce(
       case when comment is not null then (select document from comments where comments.stage_id = wanted.id and comments.id = comment)
         when "index" is not null
           then (select document from transcript where transcript.stage_id = wanted.id and transcript."index" = wanted."index")
         else (select document from stages where stages.id = wanted.id) end, '') as document
     from unnest($1::text[], $2::bigint[], $3::text[]) with ordinality as wanted(id, "index", comment, nth)`,
    [rows.map(({ id }) => id), rows.map(({ index }) => index), rows.map(({ comment }) => comment)],
  );
  const documents = new Map(found.map(({ nth, document }) => [nth, document]));
  return rows.map((_, at) => documents.get(at + 1) || undefined);
}

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
