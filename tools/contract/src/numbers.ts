import { z } from 'zod';
import { QuietHours } from './alerts.ts';
import { RequestKind } from './approvals.ts';
import { ProjectId, StageId } from './ids.ts';

const { timeZone } = QuietHours.shape;
const milliseconds = z.number().nonnegative();

/** A day of a time zone, such as `2026-01-31`. */
const Day = z.iso.date();

/** What to count: the last `days` days, 30 by default, up to today. They are days of this time zone; by default of the server's. */
export const NumbersQuery = z.strictObject({
  days: z.int().min(1).max(366).optional(),
  timeZone: timeZone.optional(),
});
export type NumbersQuery = z.infer<typeof NumbersQuery>;

/** How long Claude waited for people: requests that ended, and the time between each request and its end. */
const Waits = z.object({ kind: RequestKind, count: z.int().positive(), waitedMs: milliseconds });

/** How many calls a rule let through. A call that runs several commands may count for several rules. */
const RuleUses = z.object({ day: Day, ruleId: z.string(), count: z.int().positive() });

/** A process of Claude Code. `endedAt` is null while it runs. */
export const LaunchSpan = z.object({
  stageId: StageId,
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
});
export type LaunchSpan = z.infer<typeof LaunchSpan>;

/** A request that waited for a person. `to` is null while it is open. */
export const WaitSpan = z.object({ stageId: StageId, from: z.iso.datetime(), to: z.iso.datetime().nullable() });
export type WaitSpan = z.infer<typeof WaitSpan>;

/** What happened in a number of days. Days, stages and rules without anything are left out. */
export const Numbers = z.object({
  /** The first and the last day. */
  from: Day,
  to: Day,
  /** The time zone of these days. */
  timeZone,
  /** The instants at which the first day begins and the last one ends. */
  since: z.iso.datetime(),
  until: z.iso.datetime(),
  /** A wait counts on the day on which it ended; an open request does not count yet. */
  waits: z.object({
    days: z.array(Waits.extend({ day: Day })),
    stages: z.array(Waits.extend({ stageId: StageId })),
  }),
  rules: z.object({
    /** How many calls rules let through, each once. */
    days: z.array(z.object({ day: Day, count: z.int().positive() })),
    uses: z.array(RuleUses),
    /** The rules among `uses`, as Claude Code writes them. */
    texts: z.array(z.object({ ruleId: z.string(), rule: z.string(), projectId: ProjectId })),
    /** The median time that Claude waited for a person to allow or deny a call, over `answers` of these days; null without any. */
    medianWaitMs: milliseconds.nullable(),
    answers: z.int().nonnegative(),
  }),
  /** What Claude cost, by project. Its days are those of the server, which books a turn on the day on which it ends: as many, up to today there. */
  spending: z.object({
    timeZone,
    from: Day,
    to: Day,
    days: z.array(
      z.object({
        day: Day,
        projectId: ProjectId,
        usd: z.number().nonnegative(),
        /** Without those that were read from the cache. */
        tokens: z.number().nonnegative(),
      }),
    ),
  }),
  timeline: z.object({
    /** The newest that ran in these days, at most 2,000. */
    launches: z.array(LaunchSpan),
    /** How many older ones were left out. */
    leftOut: z.int().nonnegative(),
    /** How many launches began in these days, and how long all that ran were running in them until now; both with those left out. */
    starts: z.int().nonnegative(),
    ranMs: milliseconds,
    /** The newest requests that waited for at least `leastMs`, at most 5,000. */
    waits: z.array(WaitSpan),
    waitsLeftOut: z.int().nonnegative(),
    leastMs: milliseconds,
  }),
  /** The stages named here. The title of a deleted one is its last; null if unknown. */
  stages: z.array(
    z.object({
      stageId: StageId,
      title: z.string().nullable(),
      projectId: ProjectId.nullable(),
      isDeleted: z.boolean(),
    }),
  ),
});
export type Numbers = z.infer<typeof Numbers>;

/** A spreadsheet takes a cell that begins so for a formula, and would run text that a model or a tool wrote. */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** Returns a CSV field (RFC 4180) that a spreadsheet does not run; objects become JSON, null and undefined an empty field. */
export function csvField(value: unknown): string {
  const text = value == null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns a line of a CSV file, with its end. */
export const csvLine = (values: readonly unknown[]): string => `${values.map(csvField).join(',')}\r\n`;
