import { type PendingRequest, visibleText } from '@callboard/contract';
import { field } from './tool-text.ts';

export { exactDuration, formatUsd as cost, shortDuration } from '@callboard/contract';

// A formatter costs more than a hundred of its uses.
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** Date and time in the reader's time zone, for a title. */
export const exactTime = (iso: string): string => EXACT.format(new Date(iso));

/** The time of day, for something recent. */
export const clockTime = (iso: string): string => CLOCK.format(new Date(iso));

export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** A size in words: "812 B", "4.3 kB", "212 MB". */
export function formatSize(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}

// What requests of several kinds are described with. The words of each kind are in `features/interaction/kinds/`.

/** How much of a path the name of a form shows. */
export const PATH_SHOWN = 60;

/** Whether the name of a form shows a path only in part. */
export const isPathCut = (path: string): boolean => path.length > PATH_SHOWN;

/** The host that a command wants to reach, with escapes visible. */
export const hostText = ({ input }: Pick<PendingRequest, 'input'>): string =>
  visibleText(field(input, 'host'), 'command') || 'a host that Claude Code does not name';

export const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';

/** Turns a few words into a sentence: a capital first, a full stop last. */
export function asSentence(message: string): string {
  const text = message.trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…:]$/.test(text) ? '' : '.'}`;
}

/** One key for a request among all stages. */
export const requestKey = ({ stageId, requestId }: Pick<PendingRequest, 'stageId' | 'requestId'>): string =>
  `${stageId}/${requestId}`;
