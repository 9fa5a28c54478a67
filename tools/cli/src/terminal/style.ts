import type { Platform } from '../edges.ts';

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
