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
