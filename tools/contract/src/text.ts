const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in one unit: "12 s", "4 min", "3 h", "2 d". */
export function shortDuration(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/** A duration in its two largest units: "4 min 12 s", "1 h 5 min", "0.3 s". */
export function exactDuration(ms: number): string {
  if (ms < 10 * SECOND) return `${(Math.max(0, ms) / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return two(Math.floor(ms / MINUTE), 'min', Math.floor((ms % MINUTE) / SECOND), 's');
  if (ms < DAY) return two(Math.floor(ms / HOUR), 'h', Math.floor((ms % HOUR) / MINUTE), 'min');
  return two(Math.floor(ms / DAY), 'd', Math.floor((ms % DAY) / HOUR), 'h');
}

const two = (a: number, unitA: string, b: number, unitB: string) =>
  b === 0 ? `${a} ${unitA}` : `${a} ${unitA} ${b} ${unitB}`;

/**
 * What a text is: a `command` (also a path, a rule, an address), where every character counts; `code` (contents of files),
 * where line endings and emoji are no surprise; or `prose`, which people write in all scripts.
 */
export type TextKind = 'command' | 'code' | 'prose';

/** A part of a text and how to show it. */
export interface TextPiece {
  /** The text to show; for a hidden character its code. */
  text: string;
  kind: 'plain' | 'hidden' | 'right-to-left';
}

// Characters that are invisible, or change how others look: controls (except tab and line feed), formats, everything
// ignored by default (fillers, variation selectors, tags), unassigned and private characters, unusual spaces, and blank
// symbols. Arabic and Kaithi number signs are formats by name only; they are visible.
const HIDDEN =
  /(?![\t\n \u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}\p{DI}\u2800\ufffc\u{16fe4}\u{1d159}]/u;
const HIDDEN_OR_EMOJI = new RegExp(`${emoji()}|(?<hidden>${HIDDEN.source})`, 'gu');
/** Words of right-to-left scripts: in code each is isolated, or it would reorder its neighbours. */
const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}][\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}\p{M}]*/gu;

/** Returns the pattern of an emoji: with its variation selector, joined to others, a key cap, or a regional flag. */
function emoji(): string {
  const picture = '(?!\\p{Cn})\\p{Extended_Pictographic}(?:[\\ufe0e\\ufe0f]|\\p{EMod})?';
  const cap = '[0-9#*]\\ufe0f?\\u20e3';
  const regions = ['gbeng', 'gbsct', 'gbwls'].map(
    (letters) =>
      `\\u{1f3f4}${[...letters].map((letter) => `\\u{${(0xe0000 + letter.charCodeAt(0)).toString(16)}}`).join('')}\\u{e007f}`,
  );
  return `${regions.join('|')}|${cap}|${picture}(?:\\u200d${picture})*`;
}

/** Scripts that need joiners, or that have no spaces between words. */
const JOINED = /[\p{L}\p{M}]/u;
const JOINING_SCRIPTS =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}]/u;
const UNSPACED_SCRIPTS = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Whether an invisible character belongs to the spelling of its neighbours. */
function belongs(character: string, before: string, after: string): boolean {
  if (character === '\u200c' || character === '\u200d') return JOINED.test(before) && JOINING_SCRIPTS.test(before);
  if (character === '\u200b') return UNSPACED_SCRIPTS.test(before) && UNSPACED_SCRIPTS.test(after);
  return /[\u180b-\u180d]/.test(character) && /\p{Script=Mongolian}/u.test(before) && !/\p{DI}/u.test(before);
}

interface Found {
  character: string;
  index: number;
  /** Nothing in the text explains it. */
  isSuspicious: boolean;
  /** It must be shown as a code. */
  isShown: boolean;
}

function* findHidden(text: string, kind: TextKind): Generator<Found> {
  for (const { 0: match, index, groups } of text.matchAll(HIDDEN_OR_EMOJI)) {
    if (groups?.hidden === undefined) {
      // An emoji is visible. Where every character counts, its parts are reported as well.
      if (kind !== 'prose') yield* partsOfEmoji(match, index, kind === 'command');
      continue;
    }
    const before = characterBefore(text, index);
    const after = String.fromCodePoint(text.codePointAt(index + match.length) ?? 0x20);
    const isWritten = belongs(match, before, after) || /\p{Zs}/u.test(match);
    const isUsual = isWritten || isUsualThere(match, index, after);
    yield {
      character: match,
      index,
      isShown: kind !== 'prose' || !isWritten,
      isSuspicious: kind === 'command' || !isUsual,
    };
  }
}

function* partsOfEmoji(match: string, start: number, isSuspicious: boolean): Generator<Found> {
  let index = start;
  for (const character of match) {
    if (HIDDEN.test(character)) yield { character, index, isShown: true, isSuspicious };
    index += character.length;
  }
}

/** A Windows line ending, a byte order mark at the beginning of a file, or a byte of another encoding. */
const isUsualThere = (character: string, index: number, after: string): boolean =>
  (character === '\r' && after === '\n') ||
  (character === '\ufeff' && index === 0) ||
  /[\udc80-\udcff]/u.test(character);

function characterBefore(text: string, index: number): string {
  const pair = text.slice(Math.max(0, index - 2), index);
  return [...pair].at(-1) ?? '';
}

/** Returns a short name for an invisible character: `\r`, `\x1b`, `U+202E`; `\xe9` for a byte that is not UTF-8. */
function codeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\r') return '\\r';
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${(code - 0xdc00).toString(16)}`;
  if (code < 0xa0) return `\\x${code.toString(16).padStart(2, '0')}`;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Splits a text so that everything in it is visible: each hidden character is a separate part with its code. */
export function visiblePieces(text: string, kind: TextKind): TextPiece[] {
  const pieces: TextPiece[] = [];
  let from = 0;
  const plain = (to: number) => {
    if (to > from) pieces.push(...plainPieces(text.slice(from, to), kind));
  };
  for (const { character, index, isShown } of findHidden(text, kind)) {
    if (!isShown) continue;
    plain(index);
    from = index + character.length;
    // People do not choose the line endings of their prose.
    if (kind === 'prose' && character === '\r' && text[from] === '\n') continue;
    pieces.push({ text: codeOf(character), kind: 'hidden' });
  }
  plain(text.length);
  return pieces;
}

function plainPieces(text: string, kind: TextKind): TextPiece[] {
  if (kind === 'prose') return [{ text, kind: 'plain' }];
  const pieces: TextPiece[] = [];
  let from = 0;
  for (const { 0: word, index } of text.matchAll(RIGHT_TO_LEFT)) {
    if (index > from) pieces.push({ text: text.slice(from, index), kind: 'plain' });
    pieces.push({ text: word, kind: 'right-to-left' });
    from = index + word.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), kind: 'plain' });
  return pieces;
}

/** Returns the same as one text, for names and titles: codes are in `⟨⟩`. */
export const visibleText = (text: string, kind: TextKind): string =>
  visiblePieces(text, kind)
    .map((piece) => (piece.kind === 'hidden' ? `⟨${piece.text}⟩` : piece.text))
    .join('');

const NAMES: readonly (readonly [name: string, characters: RegExp])[] = [
  ['text direction mark', /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u],
  ['carriage return', /\r/u],
  ['control character', /\p{Cc}/u],
  ['tag character', /[\u{e0000}-\u{e007f}]/u],
  ['variation selector', /[\u180b-\u180d\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u],
  ['soft hyphen', /\u00ad/u],
  ['blank letter', /[\u115f\u1160\u2800\u3164\uffa0\u{16fe4}\u{1d159}]/u],
  ['zero-width character', /[\u034f\u180e\u200b-\u200d\u2060-\u2064\ufeff]/u],
  ['unusual space', /\p{Z}/u],
  ['byte that is not UTF-8', /[\udc80-\udcff]/u],
  ['unknown character', /[\p{Co}\p{Cn}\p{Cs}]/u],
];

/**
 * Returns a warning that lists suspicious hidden characters of the texts; null if there are none. `visiblePieces` shows all
 * of them as codes.
 */
export function hiddenWarning(texts: Iterable<readonly [text: string, kind: TextKind]>): string | null {
  const counts = new Map<string, number>();
  for (const [text, kind] of texts) {
    for (const { character, isSuspicious } of findHidden(text, kind)) {
      if (!isSuspicious) continue;
      const name = NAMES.find(([, characters]) => characters.test(character))?.[0] ?? 'invisible character';
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  if (counts.size === 0) return null;
  const list = [...counts].map(([name, count]) => (count === 1 ? `1 ${name}` : `${count} ${plural(name)}`)).join(', ');
  return `Hidden characters: ${list}. They can make text look different from what it is, and are shown as codes.`;
}

const plural = (name: string): string =>
  name.startsWith('byte') ? name.replace('byte that is', 'bytes that are') : `${name}s`;
