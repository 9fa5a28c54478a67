import { createHash } from 'node:crypto';
import {
  type CommentId,
  type Decision,
  type Indexing,
  onlySeenBy,
  type SearchKind,
  type SearchResult,
  type Stage,
  type StageId,
  type TranscriptEntry,
} from '@callboard/contract';
import type { CommentRecord } from '../records.ts';

/** A search that the index can run. Everything is optional but the terms, which are not empty. */
export interface IndexQuery {
  terms: readonly SearchTerm[];
  /** Null: all stages. */
  stageIds: readonly StageId[] | null;
  kind: SearchKind | undefined;
  by: string | undefined;
  /** Who searches: other people's drafts are not found. */
  person: string;
  since: string | undefined;
  /** The `next` of the page before. */
  before: string | undefined;
  limit: number;
}

export interface IndexReply {
  results: SearchResult[];
  next: string | null;
  /** Null: the index is complete. */
  indexing: Indexing | null;
}

/**
 * Words in titles, prompts, comments and transcripts. It is derived from the store, lags a little behind it, and is built anew if it is
 * lost, damaged, or of an older shape; a search finds what is indexed so far. It never holds up a transaction or the event loop.
 */
export interface SearchIndex {
  /**
   * Titles and prompts first, then the rest, newest first. Stages that were deleted are not in it.
   * @throws OperationalError `search_unavailable`
   */
  search(query: IndexQuery): Promise<IndexReply>;
  /** Ends indexing; what is not indexed yet is found at the next start. */
  stop(): Promise<void>;
}

/** Words that stand together, folded. */
export interface SearchTerm {
  words: readonly string[];
  /** The last word may be the beginning of a longer one. */
  isPrefix: boolean;
}

/** More would only cost time. */
const MAX_TERMS = 20;
/** One letter begins too many words. */
const SHORTEST_PREFIX = 2;
/** A part in quotes, which may be unfinished, or a part without spaces. */
const PART = /"(?<quoted>[^"]*)(?<end>"?)|[^\s"]+/g;

/**
 * Returns what a person's query asks for: every word, with "words in quotes" and parts of one token (`src/app.ts`)
 * together. The last word may be unfinished, unless a space or quote follows it; another one if a `*` does. Any text is a
 * query; one without letters and digits has no terms.
 */
export function parseTerms(query: string): SearchTerm[] {
  const terms: SearchTerm[] = [];
  for (const part of query.replaceAll(/[“”„«»]/g, '"').matchAll(PART)) {
    const { quoted, end } = part.groups ?? {};
    const words = Array.from(wordsOf(quoted ?? part[0]), ({ word }) => word);
    if (words.length === 0) continue;
    const isLast = part.index + part[0].length === query.length;
    const isUnfinished = quoted === undefined ? isLast || part[0].endsWith('*') : isLast && end === '';
    terms.push({ words, isPrefix: isUnfinished && (words.at(-1) ?? '').length >= SHORTEST_PREFIX });
  }
  return terms.slice(0, MAX_TERMS);
}

/** Scripts without spaces between words: each character counts as a word, so that any part of a text is found. */
const ALONE = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}`;
const WORD = new RegExp(String.raw`[${ALONE}]\p{M}*|(?:(?![${ALONE}])[\p{L}\p{N}\p{Co}]\p{M}*)+`, 'gu');
const NOT_ASCII = /\P{ASCII}/u;
/** Letters that Unicode does not take apart into a letter and an accent. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ħ: 'h',
  ς: 'σ',
};
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g');

/** Returns the word without case and accents. Nothing is left of a few signs that count as letters. */
function fold(word: string): string {
  const lower = word.toLowerCase();
  if (!NOT_ASCII.test(lower)) return lower;
  return lower
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}\p{Co}]/gu, '')
    .toLowerCase()
    .replaceAll(LETTER, (letter) => LETTERS[letter] ?? letter);
}

/** A word of a text: as it is compared, and where it stands. */
export interface FoldedWord {
  word: string;
  from: number;
  to: number;
}

/** Yields the words of a text: letters and digits, so `src/app_main.ts` has four. */
export function* wordsOf(text: string): Generator<FoldedWord, void> {
  for (const match of text.matchAll(WORD)) {
    const word = fold(match[0]);
    if (word !== '') yield { word, from: match.index, to: match.index + match[0].length };
  }
}

/** Returns the text for an index that takes letters and digits for words, and everything else of ASCII for what separates them. */
export function foldText(text: string): string {
  if (!NOT_ASCII.test(text)) return text.toLowerCase();
  return Array.from(wordsOf(text), ({ word }) => word).join(' ');
}

/** The events that change a text that can be found. */
export const CHANGES_OF_TEXTS = [
  'stage-created',
  'stage-updated',
  'stage-removed',
  'transcript-appended',
  'comments-updated',
] as const;

/** A text to be indexed. */
export interface Item extends IndexedText {
  /** The transcript entry; null for everything else. */
  index: number | null;
  comment: CommentId | null;
  /** Who alone may find it; null: everybody. */
  onlyFor: string | null;
  at: string;
}

/** A stage's texts that may change. */
export interface StageTexts {
  items: Item[];
  /** Changes with the texts. */
  signature: string;
}

/** The texts of transcript entries; those without words are left out. */
export const itemsOfEntries = (entries: readonly TranscriptEntry[]): Item[] =>
  entries.flatMap((entry): Item[] => {
    const text = textOfEntry(entry);
    return text === null ? [] : [{ ...text, index: entry.index, comment: null, onlyFor: null, at: entry.at }];
  });

/** The texts of a stage that may change. Another kind of them is added here. */
export function textsOfStage(stage: Stage, comments: readonly CommentRecord[]): StageTexts {
  const own = { by: null, toolName: null, index: null, comment: null, onlyFor: null, at: stage.createdAt };
  const items: Item[] = [
    { ...own, kind: 'title', text: titleText(stage) },
    { ...own, kind: 'prompt', text: promptText(stage) },
    ...comments.map((comment): Item => {
      const { id, author, text, createdAt } = comment;
      const who = { by: author, onlyFor: onlySeenBy(comment) };
      return { ...own, ...who, kind: 'comment', text, comment: id, at: createdAt };
    }),
  ];
  return { items, signature: createHash('sha256').update(JSON.stringify(items)).digest('base64') };
}

/** What a stage is found by as its title. */
export const titleText = ({ title, id, group }: Stage): string => [title, id, group ?? ''].join('\n');

/** What a stage is found by as its prompt. */
export const promptText = ({ prompt, pipeline }: Stage): string =>
  [prompt, ...(pipeline ?? []).map((phase) => phase.prompt)].join('\n');

/** What the index knows of an entry. */
export interface IndexedText {
  kind: SearchKind;
  text: string;
  by: string | null;
  toolName: string | null;
}

/** Returns what a person can find an entry by; null for an entry without words. */
export function textOfEntry(entry: TranscriptEntry): IndexedText | null {
  const nobody = { by: null, toolName: null };
  switch (entry.kind) {
    case 'user':
      return { kind: 'message', text: [entry.text, ...namesOf(entry)].join('\n'), by: entry.by, toolName: null };
    case 'text':
    case 'thinking':
    case 'notice':
      return { kind: entry.kind, text: entry.text, ...nobody };
    case 'tool-use':
      return { kind: 'tool', text: textsIn(entry.input), by: null, toolName: entry.toolName };
    case 'tool-result':
      return { kind: 'tool', text: entry.text, ...nobody };
    case 'decision':
      return { kind: 'decision', text: textOfDecision(entry.decision), by: entry.decision.by, toolName: null };
    case 'turn-end':
      return entry.message === null ? null : { kind: 'notice', text: entry.message, ...nobody };
    case 'unknown':
      return null;
  }
}

/** An older Callboard's entries lack fields that were added since. */
const namesOf = ({ attachments }: { attachments?: readonly { name?: string | null }[] }): string[] =>
  (attachments ?? []).flatMap(({ name }) => name ?? []);

function textOfDecision({ asked, reason, answers, updatedInput }: Decision): string {
  const said = Object.entries(answers ?? {}).map(([question, answer]) => `${question} ${answer}`);
  return [asked, reason, ...said, updatedInput && textsIn(updatedInput)].filter(Boolean).join('\n');
}

/** All texts within a value, one a line; keys are names of the tool's own and say nothing. */
function textsIn(value: unknown): string {
  const texts: string[] = [];
  collect(value, texts);
  return texts.join('\n');
}

function collect(value: unknown, texts: string[]): void {
  if (typeof value === 'string') texts.push(value);
  else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) collect(one, texts);
}
