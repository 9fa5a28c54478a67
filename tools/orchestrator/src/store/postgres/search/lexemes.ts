import type { SearchTerm } from '../../search/parse-terms.ts';

/**
 * What PostgreSQL indexes of a text: its words, and each two that stand together (with a space before them, so that the beginning of a
 * word is not looked up among pairs). Positions are not used: PostgreSQL keeps 256 of a word, and none beyond 16,383.
 */

/** A lexeme has 2,046 bytes at most: a space and two words of this length fit in any script. */
const MAX_WORD_LENGTH = 200;
/** The lexemes of one value have a megabyte at most. */
const MAX_BYTES = 800_000;

const cut = (word: string) => (word.length > MAX_WORD_LENGTH ? word.slice(0, MAX_WORD_LENGTH) : word);
const pairOf = (one: string, other: string) => ` ${cut(one)} ${cut(other)}`;
/** Words have letters and digits alone, so nothing in them needs to be escaped. */
const quoted = (lexeme: string) => `'${lexeme}'`;

/** Returns values of type `tsvector` for the words of a text: one, or several if one would be too large. */
export function vectorsOf(words: readonly string[]): string[] {
  const lexemes = new Set<string>();
  for (const [at, word] of words.entries()) {
    lexemes.add(cut(word));
    const before = words[at - 1];
    if (before !== undefined) lexemes.add(pairOf(before, word));
  }
  const vectors: string[] = [];
  let bytes = 0;
  let some: string[] = [];
  for (const lexeme of lexemes) {
    bytes += Buffer.byteLength(lexeme);
    if (bytes > MAX_BYTES) {
      vectors.push(some.join(' '));
      [bytes, some] = [Buffer.byteLength(lexeme), []];
    }
    some.push(quoted(lexeme));
  }
  return [...vectors, some.join(' ')];
}

/** Returns values of type `tsquery`, all of which a text with the term matches. Others match as well if the term `isRough`. */
export function queriesOf({ words, isPrefix }: SearchTerm): string[] {
  const [only = ''] = words;
  const lexemes =
    words.length === 1 ? [cut(only)] : words.slice(1).map((word, before) => pairOf(words[before] ?? '', word));
  return lexemes.map((lexeme, at) => `${quoted(lexeme)}${isPrefix && at === lexemes.length - 1 ? ':*' : ''}`);
}

/** Whether the index alone cannot tell where the term stands: it knows pairs of words, and beginnings of very long ones. */
export const isRough = ({ words }: SearchTerm): boolean =>
  words.length > 2 || words.some((word) => word.length >= MAX_WORD_LENGTH);

/** Returns how often a term stands in a text. */
export function countIn(text: readonly string[], { words, isPrefix }: SearchTerm): number {
  let count = 0;
  for (let from = 0; from + words.length <= text.length; from++) {
    const isHere = words.every((word, at) => {
      const there = text[from + at] ?? '';
      return isPrefix && at === words.length - 1 ? there.startsWith(word) : there === word;
    });
    if (isHere) count++;
  }
  return count;
}
