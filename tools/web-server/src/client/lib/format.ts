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
