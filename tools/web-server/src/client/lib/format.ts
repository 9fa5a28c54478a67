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

// A formatter costs more than a hundred of its uses.
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** Date and time in the reader's time zone, for a title. */
export const exactTime = (iso: string): string => EXACT.format(new Date(iso));

/** The time of day, for something recent. */
export const clockTime = (iso: string): string => CLOCK.format(new Date(iso));

export const cost = (usd: number): string => `$${usd.toFixed(usd > 0 && usd < 0.1 ? 3 : 2)}`;

export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** A size in words: "812 B", "4.3 kB", "212 MB". */
export function sizeWords(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}
