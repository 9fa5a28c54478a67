import { z } from 'zod';

/** What a person is told about, as three signals: Claude waits for them, something failed, a stage is ready for review. */
export const Signal = z.enum(['waiting', 'failed', 'finished']);
export type Signal = z.infer<typeof Signal>;

/** How a signal reaches a person. `notification` covers those of an open page and those that are pushed to a device. */
export const AlertChannel = z.enum(['title', 'icon', 'sound', 'notification']);
export type AlertChannel = z.infer<typeof AlertChannel>;

const Channels = z.strictObject({
  title: z.boolean(),
  icon: z.boolean(),
  sound: z.boolean(),
  notification: z.boolean(),
});

const TimeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'is not a time such as 22:00');

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== '';
  } catch {
    return false;
  }
}

/** When a person hears nothing: neither sounds nor notifications. The same times mean a whole day. */
export const QuietHours = z.strictObject({
  from: TimeOfDay,
  /** Not later than `from`: on the next day. */
  to: TimeOfDay,
  /** The days on which it begins; 0 is Sunday. */
  days: z.array(z.int().min(0).max(6)).min(1, 'has no day').max(7),
  /** Where the person is: an IANA name such as `Europe/Berlin`. */
  timeZone: z.string().max(100).refine(isTimeZone, 'is not a time zone that this machine knows'),
});
export type QuietHours = z.infer<typeof QuietHours>;

/** A person's choice of what is signalled, and how. */
export const AlertSettings = z.strictObject({
  waiting: Channels,
  failed: Channels,
  finished: Channels,
  /** Null without quiet hours. */
  quiet: QuietHours.nullable(),
  /** Whether a notification that shows the whole input of a request may have a button Allow. */
  allowFromNotification: z.boolean(),
});
export type AlertSettings = z.infer<typeof AlertSettings>;

const ALL = { title: true, icon: true, sound: true, notification: true };

/** The settings of a person who has not chosen any. Sounds and notifications are also switched on in each browser. */
export const DEFAULT_ALERTS: AlertSettings = {
  waiting: ALL,
  failed: ALL,
  finished: { ...ALL, sound: false },
  quiet: null,
  allowFromNotification: false,
};

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** The weekday and the minute of the day of an instant where the person is. */
function localTime(at: Date, timeZone: string): { day: number; minute: number } {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const minute = Number(parts.get('hour')) * 60 + Number(parts.get('minute'));
  return { day: WEEKDAYS.indexOf(parts.get('weekday') ?? ''), minute };
}

/**
 * Returns when the quiet time around an instant ends; null if it is not quiet then. Check again at that time: another quiet time may
 * follow, and it is an hour early or late if the clocks change meanwhile.
 */
export function quietUntil(quiet: QuietHours | null, at: Date): Date | null {
  if (quiet === null) return null;
  const { day, minute } = localTime(at, quiet.timeZone);
  const [from, to] = [minutesOf(quiet.from), minutesOf(quiet.to)];
  const lasts = (to - from + DAY_MINUTES) % DAY_MINUTES || DAY_MINUTES;
  for (const [began, sinceMinutes] of [
    [day, minute - from],
    [(day + 6) % 7, minute - from + DAY_MINUTES],
  ] as const) {
    if (!quiet.days.includes(began) || sinceMinutes < 0 || sinceMinutes >= lasts) continue;
    const wholeMinute = Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS;
    return new Date(wholeMinute + (lasts - sinceMinutes) * MINUTE_MS);
  }
  return null;
}
