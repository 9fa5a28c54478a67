/** A day of a time zone. */
export interface LocalDay {
  /** `2026-01-31`. */
  day: string;
  /** When it begins. */
  from: string;
  /** When the next one begins: 23 or 25 hours later if the clocks change. */
  to: string;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Local midnight is at most 14 hours from that of UTC. */
const FARTHEST_MS = 15 * 60 * MINUTE_MS;

/** The time zone of this machine. */
export const ownTimeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns the last `count` days of a time zone, the day of `now` included, oldest first. */
export function lastDays(now: Date, count: number, timeZone: string): LocalDay[] {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  const dayOf = (ms: number): string => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    return `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`;
  };
  const today = dayOf(now.getTime());
  const names = Array.from({ length: count + 1 }, (_, at) => dayAfter(today, at - count + 1));
  const starts = names.map((day) => new Date(startOf(day, dayOf)).toISOString());
  return names.slice(0, -1).map((day, at) => ({ day, from: starts[at] ?? '', to: starts[at + 1] ?? '' }));
}

const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** Searches for the first minute of a day: where clocks are set forward at midnight, that is not midnight. */
function startOf(day: string, dayOf: (ms: number) => string): number {
  let before = Date.parse(day) - FARTHEST_MS;
  let after = Date.parse(day) + FARTHEST_MS;
  while (after - before > MINUTE_MS) {
    const middle = before + Math.floor((after - before) / 2 / MINUTE_MS) * MINUTE_MS;
    if (dayOf(middle) < day) before = middle;
    else after = middle;
  }
  return after;
}
