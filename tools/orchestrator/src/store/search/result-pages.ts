import {
  type CommentId,
  isSeenBy,
  type SearchKind,
  type SearchResult,
  type Stage,
  type StageId,
  type TranscriptEntry,
} from '@callboard/contract';
import type { IndexQuery, IndexReply } from '../ports/search-index.ts';
import type { CommentRecord } from '../records.ts';
import { cutSnippet } from './cut-snippet.ts';
import { textOfEntry } from './entry-text.ts';
import { promptText, titleText } from './stage-texts.ts';

/** Places of one millisecond: an entry's place is its instant and a number, so that the newest is the highest. */
export const FRACTION_DIGITS_OF_MS = 1024;

/** An entry of the index. */
export interface FoundRow {
  place: number;
  id: StageId;
  kind: SearchKind;
  index: number | null;
  comment: CommentId | null;
  by: string | null;
  tool: string | null;
}

export type FoundPage = Omit<IndexReply, 'indexing'>;

const NEWEST = Number.MAX_SAFE_INTEGER;

/** What an index is asked for: how many titles and prompts are skipped (null: none are wanted), and before which place the others stand. */
interface Wanted {
  heads: number | null;
  before: number | null;
}

/** Says what is wanted for a page. */
export function wantedFor({ kind, before }: IndexQuery): Wanted {
  const [skipped, place] = readCursor(before);
  const areHeads = kind === 'title' || kind === 'prompt';
  return { heads: kind === undefined || areHeads ? skipped : null, before: areHeads ? null : place };
}

/** A cursor is how many titles and prompts came before, and the place of the last entry. */
function readCursor(before: string | undefined): [heads: number, place: number] {
  const [, heads, place] = /^(\d{1,9})\.(\d{1,16})$/.exec(before ?? '') ?? [];
  return heads === undefined ? [0, NEWEST] : [Number(heads), Number(place)];
}

/**
 * Puts a page together; one does not crowd out the other.
 * @param heads titles and prompts, and `bodies` the rest: of each a row more than fits, if there is one
 */
export function pageOf(
  query: IndexQuery,
  heads: readonly FoundRow[],
  bodies: readonly FoundRow[],
): { shown: readonly FoundRow[]; next: string | null } {
  const { limit } = query;
  const ofHeads = Math.min(heads.length, Math.max(Math.ceil(limit / 2), limit - bodies.length));
  const ofBodies = Math.min(bodies.length, limit - ofHeads);
  const isLast = heads.length <= ofHeads && bodies.length <= ofBodies;
  const [skipped, place] = readCursor(query.before);
  const last = bodies[ofBodies - 1]?.place ?? place;
  return {
    shown: [...heads.slice(0, ofHeads), ...bodies.slice(0, ofBodies)],
    next: isLast ? null : `${skipped + ofHeads}.${last}`,
  };
}

/** Returns a result with its snippet; nothing if the text is gone since a moment. @param document what the store has of the row: a stage, an entry or a comment */
export function resultOf(row: FoundRow, document: string | undefined, { terms, person }: IndexQuery): SearchResult[] {
  const found = document === undefined ? null : textOfRow(row, document, person);
  if (found === null) return [];
  const { text, ...where } = found;
  return [
    {
      stageId: row.id,
      kind: row.kind,
      ...(row.index !== null && { index: row.index }),
      ...where,
      ...cutSnippet(text, terms),
      by: row.by,
      toolName: row.tool,
      at: new Date(Math.floor(row.place / FRACTION_DIGITS_OF_MS)).toISOString(),
    },
  ];
}

type Found = { text: string } & Pick<SearchResult, 'comment'>;

/** Returns the text of a row, from what the store has of it; null if this person may not see it. Documents were written with their schemas. */
export function textOfRow({ kind, index, comment }: FoundRow, document: string, person: string): Found | null {
  if (comment !== null) return commentIn(JSON.parse(document) as CommentRecord, person);
  if (index !== null) {
    const text = textOfEntry(JSON.parse(document) as TranscriptEntry)?.text;
    return text === undefined ? null : { text };
  }
  const stage = JSON.parse(document) as Stage;
  return { text: kind === 'title' ? titleText(stage) : promptText(stage) };
}

/** The index lags: a comment that was sent may be its author's draft again. */
function commentIn(comment: CommentRecord, person: string): Found | null {
  if (!isSeenBy(comment, person)) return null;
  const { text, id, path, side, line, endLine, isFinding } = comment;
  return { text, comment: { id, path, side, line, endLine, isFinding: isFinding ?? false } };
}
