import { wordsOf } from './fold-words.ts';

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
