import { type TextKind, visibleText } from '@callboard/contract';
import type { Platform } from '../platform.ts';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Scripts and symbols that take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const NARROW = /^[\x20-\x7e]*$/;

/** Our own colours, which take no room. */
const COLOUR = /(\p{Cc}\[\d+m)/u;

/** Returns how many columns a text takes that has no line breaks. */
export function displayWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const unit of units(text)) width += unit.width;
  return width;
}

/** The parts of a text that cannot be broken. */
function* units(text: string): Generator<{ text: string; width: number }> {
  for (const part of text.split(COLOUR)) {
    if (COLOUR.test(part)) yield { text: part, width: 0 };
    else for (const { segment } of graphemes.segment(part)) yield { text: segment, width: widthOf(segment) };
  }
}

function widthOf(grapheme: string): number {
  if (WIDE.test(grapheme) || grapheme.includes('\ufe0f')) return 2;
  return /^[\p{M}\p{Cf}]+$/u.test(grapheme) ? 0 : 1;
}

/** Returns what others wrote as lines in which nothing is invisible and nothing commands the terminal. */
export const visibleLines = (text: string, kind: TextKind): string[] =>
  visibleText(text.replace(/\r\n/g, kind === 'prose' ? '\n' : '\r\n'), kind)
    .replaceAll('\t', '    ')
    .split('\n');

/** Returns the same in one line. */
export const visibleLine = (text: string, kind: TextKind): string =>
  visibleLines(text.trim(), kind)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(kind === 'prose' ? ' ' : ' ⏎ ');

/** Cuts a text at the end. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let taken = '';
  let left = width - 1;
  for (const unit of units(text)) {
    left -= unit.width;
    if (left < 0) break;
    taken += unit.text;
  }
  return width < 1 ? '' : `${taken.trimEnd()}…`;
}

/** Fills a text up with spaces. */
export const padded = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - displayWidth(text)));

/** Breaks a line at spaces, and longer words anywhere, so that no part is wider. Drops nothing but the spaces at a break. */
export function wrap(line: string, width: number): string[] {
  const most = Math.max(1, width);
  if (displayWidth(line) <= most) return [line];
  const lines: string[] = [];
  let current = '';
  for (const part of line.split(/(?<= )(?! )/)) {
    if (displayWidth(current) + displayWidth(part.trimEnd()) > most && current.trim() !== '') {
      lines.push(current.trimEnd());
      current = '';
    }
    current += part;
    while (displayWidth(current.trimEnd()) > most) {
      const head = headOf(current, most);
      lines.push(head);
      current = current.slice(head.length);
    }
  }
  if (current.trim() !== '' || lines.length === 0) lines.push(current.trimEnd());
  return lines;
}

/** The longest beginning that fits; at least one character. */
function headOf(text: string, width: number): string {
  let head = '';
  let taken = 0;
  for (const unit of units(text)) {
    taken += unit.width;
    if (taken > width && head !== '') break;
    head += unit.text;
  }
  return head;
}

/** Returns lines that fit a width, each behind the same indent. */
export function indented(lines: readonly string[], indent: string, width: number): string[] {
  const room = width - displayWidth(indent);
  return lines.flatMap((line) => wrap(line, room)).map((line) => `${indent}${line}`.trimEnd());
}

/** Returns JSON in which every character that could command a terminal, or hide, is escaped. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n' ? character : [...character].map(escaped).join(''),
  );

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('');

/** How text is set off in a terminal. Each function returns its text unchanged where there are no colours. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  /** Somebody is needed. */
  call(text: string): string;
  /** A failure. */
  fail(text: string): string;
  /** Something was done or added. */
  good(text: string): string;
}

const plain = (text: string) => text;
const sgr = (on: number, off: number) => (text: string) => (text === '' ? '' : `\x1b[${on}m${text}\x1b[${off}m`);

const PLAIN: Style = { bold: plain, dim: plain, call: plain, fail: plain, good: plain };
const COLOURED: Style = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  call: sgr(33, 39),
  fail: sgr(31, 39),
  good: sgr(32, 39),
};

/** Colours are for terminals only, and never if `NO_COLOR` is set. */
export function styleOf({ isTerminal, env }: Pick<Platform, 'isTerminal' | 'env'>): Style {
  const isColoured = isTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
  return isColoured ? COLOURED : PLAIN;
}
