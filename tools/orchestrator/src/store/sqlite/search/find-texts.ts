import {
  type CommentId,
  isSeenBy,
  type SearchKind,
  type SearchResult,
  type Stage,
  type StageId,
  type TranscriptEntry,
} from '@callboard/contract';
import type { IndexQuery } from '../../ports/search-index.ts';
import type { CommentRecord } from '../../records.ts';
import { cutSnippet } from '../../search/cut-snippet.ts';
import { textOfEntry } from '../../search/entry-text.ts';
import type { SearchTerm } from '../../search/parse-terms.ts';
import { PLACES_OF_A_MS } from './index-rows.ts';
import { promptText, titleText } from './index-texts.ts';
import type { Queries } from './search-files.ts';

interface Row {
  place: number;
  id: StageId;
  kind: SearchKind;
  index: number | null;
  comment: CommentId | null;
  by: string | null;
  tool: string | null;
}

export interface FoundPage {
  results: SearchResult[];
  next: string | null;
}

const NEWEST = Number.MAX_SAFE_INTEGER;

/** Finds a page of texts in the index, and reads them from the store for their snippets. */
export function findTexts(store: Queries, index: Queries, query: IndexQuery): FoundPage {
  const { limit, kind } = query;
  const { heads: skipped, bodies: before } = readCursor(query.before);
  const areHeads = kind === 'title' || kind === 'prompt';
  const heads = kind === undefined || areHeads ? findHeads(index, query, skipped) : [];
  const bodies = areHeads ? [] : findBodies(index, query, before);
  // One does not crowd out the other; each has a row more than fits, if there is one.
  const ofHeads = Math.min(heads.length, Math.max(Math.ceil(limit / 2), limit - bodies.length));
  const ofBodies = Math.min(bodies.length, limit - ofHeads);
  const isLast = heads.length <= ofHeads && bodies.length <= ofBodies;
  const shown = [...heads.slice(0, ofHeads), ...bodies.slice(0, ofBodies)];
  const last = bodies[ofBodies - 1]?.place ?? before;
  return {
    results: shown.flatMap((row) => toResult(store, row, query)),
    next: isLast ? null : `${skipped + ofHeads}.${last}`,
  };
}

/** A cursor is how many titles and prompts came before, and the place of the last entry. */
function readCursor(before: string | undefined): { heads: number; bodies: number } {
  const [, heads, bodies] = /^(\d{1,9})\.(\d{1,16})$/.exec(before ?? '') ?? [];
  return heads === undefined ? { heads: 0, bodies: NEWEST } : { heads: Number(heads), bodies: Number(bodies) };
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
  if (since !== undefined) filters.push(['found.rowid >= ?', Date.parse(since) * PLACES_OF_A_MS]);
  return { where: filters.map(([sql]) => ` and ${sql}`).join(''), values: filters.map(([, value]) => value) };
}

const COLUMNS = 'entries.place, stages.id, entries.kind, entries."index", entries.comment, entries.by, entries.tool';
/** In this order: the words have by far the fewest rows. */
const joined = (table: string) =>
  `select ${COLUMNS} from ${table} found cross join entries on entries.place = found.rowid
   cross join stages on stages.ordinal = entries.stage where found.words match ?`;

function findHeads(index: Queries, query: IndexQuery, skipped: number): Row[] {
  const { where, values } = filtersOf(query);
  return index.all<Row>(
    `${joined('heads')}${where} order by entries.kind = 'title' desc, found.rank, found.rowid desc limit ? offset ?`,
    ...[matchOf(query.terms), ...values, query.limit + 1, skipped],
  );
}

function findBodies(index: Queries, query: IndexQuery, before: number): Row[] {
  const { where, values } = filtersOf(query);
  return index.all<Row>(
    `${joined('bodies')}${where} and found.rowid < ? order by found.rowid desc limit ?`,
    ...[matchOf(query.terms), ...values, before, query.limit + 1],
  );
}

/** Nothing if the text is gone since a moment. */
function toResult(store: Queries, row: Row, { terms, person }: IndexQuery): SearchResult[] {
  const found = row.comment === null ? textOf(store, row) : commentIn(store, row.id, row.comment, person);
  if (found === null) return [];
  const { text, ...where } = found;
  return [
    {
      ...{ stageId: row.id, kind: row.kind },
      ...(row.index !== null && { index: row.index }),
      ...where,
      ...cutSnippet(text, terms),
      ...{ by: row.by, toolName: row.tool },
      at: new Date(Math.floor(row.place / PLACES_OF_A_MS)).toISOString(),
    },
  ];
}

type Found = { text: string } & Pick<SearchResult, 'comment'>;

function textOf(store: Queries, { id, kind, index }: Row): Found | null {
  if (index === null) {
    const stage = store.get<{ document: string }>('select document from stages where id = ?', id);
    if (stage === undefined) return null;
    const document = JSON.parse(stage.document) as Stage; // written with its schema
    return { text: kind === 'title' ? titleText(document) : promptText(document) };
  }
  const entry = store.get<{ document: string }>(
    'select document from transcript where stage_id = ? and "index" = ?',
    ...[id, index],
  );
  if (entry === undefined) return null;
  const text = textOfEntry(JSON.parse(entry.document) as TranscriptEntry)?.text; // written with its schema
  return text === undefined ? null : { text };
}

/** The index lags: a comment that was sent may be its author's draft again. */
function commentIn(store: Queries, stageId: StageId, commentId: CommentId, person: string): Found | null {
  const row = store.get<{ document: string }>(
    'select document from comments where stage_id = ? and id = ?',
    ...[stageId, commentId],
  );
  if (row === undefined) return null;
  const comment = JSON.parse(row.document) as CommentRecord; // written with its schema
  if (!isSeenBy(comment, person)) return null;
  const { text, id, path, side, line, endLine, isFinding } = comment;
  return { text, comment: { id, path, side, line, endLine, isFinding: isFinding ?? false } };
}
