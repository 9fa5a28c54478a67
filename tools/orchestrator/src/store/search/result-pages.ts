import {
  type CommentId,
  isSeenBy,
  type SearchKind,
  type SearchResult,
  type Stage,
  type StageId,
  type TranscriptEntry,
} from '@callboard/contract';
import type { CommentRecord } from '../records.ts';
import {
  type IndexQuery,
  type IndexReply,
  promptText,
  type SearchTerm,
  textOfEntry,
  titleText,
  wordsOf,
} from './search-text.ts';

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

export interface Snippet {
  snippet: string;
  /** Pairs of a start and an end within the snippet. */
  marks: [number, number][];
}

const LENGTH = 200;
/** How much of the text before the first mark is kept. */
const LEAD = 50;
/** How many words of a long text are looked at before the best place so far is taken. */
const MOST_WORDS = 100_000;

interface Hit {
  term: number;
  from: number;
  to: number;
}

/** Returns the part of a text with most of the terms, on one line, and where they stand in it. */
export function cutSnippet(text: string, terms: readonly SearchTerm[]): Snippet {
  const hits = hitsOf(text, terms);
  const best = bestLocation(hits, terms.length);
  const start = startOf(text, best);
  const end = Math.min(text.length, start + LENGTH);
  const lead = start > 0 ? '…' : '';
  const tail = end < text.length ? '…' : '';
  const shift = lead.length - start;
  const marks = hits
    .filter(({ from, to }) => from >= start && to <= end)
    .map(({ from, to }): [number, number] => [from + shift, to + shift]);
  // Each character stays one, so that the marks stay true.
  return { snippet: `${lead}${text.slice(start, end).replaceAll(/\s/g, ' ')}${tail}`, marks: joined(marks) };
}

/** The hits in the order of the text, up to the first place that has all terms. */
function hitsOf(text: string, terms: readonly SearchTerm[]): Hit[] {
  const hits: Hit[] = [];
  const longest = Math.max(1, ...terms.map(({ words }) => words.length));
  const last: { word: string; from: number }[] = [];
  let count = 0;
  let until = Number.POSITIVE_INFINITY;
  for (const { word, from, to } of wordsOf(text)) {
    if (from > until || ++count > MOST_WORDS) break;
    last.push({ word, from });
    if (last.length > longest) last.shift();
    for (const [term, { words, isPrefix }] of terms.entries()) {
      const first = last.at(-words.length);
      if (first === undefined || last.length < words.length) continue;
      const others = words.slice(0, -1);
      const end = words.at(-1) ?? '';
      if (isPrefix ? !word.startsWith(end) : word !== end) continue;
      if (others.every((wanted, at) => last.at(at - words.length)?.word === wanted))
        hits.push({ term, from: first.from, to });
    }
    if (until === Number.POSITIVE_INFINITY && isWhole(hits, terms.length)) until = to + LENGTH;
  }
  return hits;
}

/** Whether the end of the hits has all terms within one snippet. */
function isWhole(hits: readonly Hit[], count: number): boolean {
  const end = hits.at(-1)?.to ?? 0;
  const seen = new Set<number>();
  for (let at = hits.length - 1; at >= 0; at--) {
    const hit = hits[at];
    if (hit === undefined || hit.from < end - (LENGTH - LEAD)) break;
    seen.add(hit.term);
  }
  return seen.size === count;
}

/** Returns where the stretch with most different terms begins; 0 if there is no hit. */
function bestLocation(hits: readonly Hit[], count: number): number {
  let best = { from: hits[0]?.from ?? 0, terms: 0 };
  for (const [at, { from }] of hits.entries()) {
    const seen = new Set<number>();
    for (let next = at; next < hits.length; next++) {
      const hit = hits[next];
      if (hit === undefined || hit.to > from + LENGTH - LEAD) break;
      seen.add(hit.term);
    }
    if (seen.size > best.terms) best = { from, terms: seen.size };
    if (best.terms === count) break;
  }
  return best.from;
}

/** Begins at a word some way before the place, and never within a character. */
function startOf(text: string, place: number): number {
  if (place <= LEAD || text.length <= LENGTH) return 0;
  const about = place - LEAD;
  const space = text.slice(about, place).search(/\s/);
  const start = space === -1 ? about : about + space + 1;
  return isLowSurrogate(text, start) ? start + 1 : start;
}

const isLowSurrogate = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
};

/** Joins marks that overlap, and those with one space or sign between them. */
function joined(marks: readonly [number, number][]): [number, number][] {
  const all: [number, number][] = [];
  for (const [from, to] of marks.toSorted((a, b) => a[0] - b[0] || a[1] - b[1])) {
    const before = all.at(-1);
    if (before !== undefined && from <= before[1]) before[1] = Math.max(before[1], to);
    else all.push([from, to]);
  }
  return all;
}
