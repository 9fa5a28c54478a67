import { CommentId, SearchKind, StageId } from '@callboard/contract';
import { z } from 'zod';
import type { IndexQuery } from '../../ports/search-index.ts';
import { wordsOf } from '../../search/fold-words.ts';
import { type FoundPage, type FoundRow, pageOf, resultOf, textOfRow, wantedFor } from '../../search/result-pages.ts';
import type { PgLink } from '../pg-link.ts';
import { rowsOf } from './index-tables.ts';
import { countIn, isRough } from './lexemes.ts';
import { type Condition, filtered, matching } from './match-terms.ts';
import { createScore } from './rank-heads.ts';

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
