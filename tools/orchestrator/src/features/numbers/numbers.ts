import type { CommandInput, CommandReply, RequestKind, WaitSpan } from '@callboard/contract';
import { createYield } from '../../lib/async.ts';
import type { Platform } from '../../platform/runtime.ts';
import type { DaySpending, NumbersTable, Span, SpendingTable, StageWaits } from '../../store/ports/usage-port.ts';
import type { Store } from '../../store/store.ts';

type Numbers = CommandReply<'get_numbers'>;

const DAYS = 30;
const MAX_LAUNCHES = 2_000;
const MAX_WAITS = 5_000;
/** So many answers make a median that one more does not change. */
const MAX_ANSWERS = 1_000;
/** A wait that is shorter than this part of all days is no pixel wide on a time line. */
const TIMELINE_PARTS = 2_000;

export interface NumberViews {
  /** Counts what happened in the last days. Reads a day at a time and lets others work in between. */
  numbers(query: CommandInput<'get_numbers'>): Promise<Numbers>;
}

interface NumberViewsDeps {
  store: Pick<Store, 'read'>;
  platform: Pick<Platform, 'now'>;
}

export function createNumberViews({ store, platform }: NumberViewsDeps): NumberViews {
  return {
    async numbers({ days: count = DAYS, timeZone = ownTimeZone() }) {
      const table = store.read.numbers;
      const now = platform.now();
      const days = lastDays(now, count, timeZone);
      const [since, until] = [days[0]?.from ?? '', days.at(-1)?.to ?? ''];
      const leastMs = Math.round((Date.parse(until) - Date.parse(since)) / TIMELINE_PARTS);
      const counted = await countDays(table, days, leastMs);
      const spending = await spendingOf(store.read.spending, now, count);
      const span = { from: since, to: until };
      const { launches, ...ran } = await launchesOf(table, days, now.toISOString());
      const timeline = { launches, ...ran, ...(await waitsOf(table, span, counted.longWaits)), leastMs };
      const { waits, calls, uses, medianWaitMs, answers } = counted;
      const named = [...waits.stages, ...launches, ...timeline.waits].map(({ stageId }) => stageId);
      return {
        from: days[0]?.day ?? '',
        to: days.at(-1)?.day ?? '',
        timeZone,
        since,
        until,
        waits,
        spending,
        timeline,
        rules: {
          days: calls,
          uses,
          medianWaitMs,
          answers,
          texts: await table.ruleTexts(unique(uses.map(({ ruleId }) => ruleId))),
        },
        stages: await table.stagesOf(unique(named)),
      };
    },
  };
}

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

/** Reads what is counted by the day. */
async function countDays(table: NumbersTable, days: readonly LocalDay[], leastMs: number) {
  const yieldToEventLoop = createYield();
  const byDay: Numbers['waits']['days'] = [];
  const stages = createStageWaits();
  const calls: Numbers['rules']['days'] = [];
  const uses: Numbers['rules']['uses'] = [];
  const longWaits: WaitSpan[] = [];
  const answers: number[] = [];
  for (const { day, ...span } of days.toReversed()) {
    await yieldToEventLoop();
    const waits = await table.waits(span);
    stages.add(waits);
    byDay.push(...byKind(waits).map((one) => ({ day, ...one })));
    await yieldToEventLoop();
    longWaits.push(...(await table.longWaits(span, leastMs)));
    if (answers.length < MAX_ANSWERS) answers.push(...(await table.approvalWaits(span, MAX_ANSWERS - answers.length)));
    const usesOfDay = await table.ruleUses(span);
    uses.push(...usesOfDay.map((use) => ({ day, ...use })));
    if (usesOfDay.length > 0) calls.push({ day, count: await table.ruledCalls(span) });
  }
  return {
    waits: { days: byDay.toSorted((a, b) => a.day.localeCompare(b.day)), stages: stages.all() },
    calls: calls.toReversed(),
    uses: uses.toSorted((a, b) => a.day.localeCompare(b.day)),
    longWaits,
    medianWaitMs: medianOf(answers),
    answers: answers.length,
  };
}

type KindWaits = Omit<StageWaits, 'stageId'>;

function byKind(waits: readonly StageWaits[]): KindWaits[] {
  const kinds = new Map<RequestKind, KindWaits>();
  for (const { kind, count, waitedMs } of waits) {
    const sum = kinds.get(kind) ?? { kind, count: 0, waitedMs: 0 };
    kinds.set(kind, { kind, count: sum.count + count, waitedMs: sum.waitedMs + waitedMs });
  }
  return [...kinds.values()];
}

/** Adds up the waits of each stage over the days. */
function createStageWaits() {
  const sums = new Map<string, StageWaits>();
  return {
    add(waits: readonly StageWaits[]): void {
      for (const wait of waits) {
        const key = `${wait.stageId} ${wait.kind}`;
        const { count, waitedMs } = sums.get(key) ?? { count: 0, waitedMs: 0 };
        sums.set(key, { ...wait, count: count + wait.count, waitedMs: waitedMs + wait.waitedMs });
      }
    },
    all: (): StageWaits[] => [...sums.values()],
  };
}

/** What was spent on each of the server's last days: the ledger has no others, and today there may be another day than where the person is. */
async function spendingOf(table: Pick<SpendingTable, 'list'>, now: Date, count: number): Promise<Numbers['spending']> {
  const yieldToEventLoop = createYield();
  const timeZone = ownTimeZone();
  const days = lastDays(now, count, timeZone).map(({ day }) => day);
  const spent: Numbers['spending']['days'] = [];
  for (const day of days) {
    await yieldToEventLoop();
    for (const [projectId, rows] of Map.groupBy(await table.list(day, day), (row) => row.projectId)) {
      const sum = (of: (row: DaySpending) => number) => rows.reduce((all, row) => all + of(row), 0);
      spent.push({ day, projectId, usd: sum(({ usd }) => usd), tokens: sum(({ tokens }) => tokens) });
    }
  }
  return { timeZone, from: days[0] ?? '', to: days.at(-1) ?? '', days: spent };
}

type Timeline = Numbers['timeline'];

/** The newest launches, and what all of them add up to until `now`. */
async function launchesOf(
  table: NumbersTable,
  days: readonly LocalDay[],
  now: string,
): Promise<Pick<Timeline, 'launches' | 'leftOut' | 'starts' | 'ranMs'>> {
  const yieldToEventLoop = createYield();
  const span = { from: days[0]?.from ?? '', to: days.at(-1)?.to ?? '' };
  const earlier = await table.ran({ from: '', to: span.from }, span, now);
  let [starts, ranMs] = [0, earlier.ranMs];
  for (const day of days) {
    await yieldToEventLoop();
    const begun = await table.ran(day, span, now);
    starts += begun.count;
    ranMs += begun.ranMs;
  }
  const launches = await table.launches(span, MAX_LAUNCHES);
  return { launches, leftOut: Math.max(0, earlier.count + starts - launches.length), starts, ranMs };
}

/** The open waits and the newest of the long ones. */
async function waitsOf(
  table: NumbersTable,
  span: Span,
  longWaits: readonly WaitSpan[],
): Promise<Pick<Timeline, 'waits' | 'waitsLeftOut'>> {
  const all = [...(await table.openWaits()).filter(({ from }) => from < span.to), ...longWaits];
  return { waits: all.slice(0, MAX_WAITS), waitsLeftOut: Math.max(0, all.length - MAX_WAITS) };
}

function medianOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[half - 1], sorted[half]];
  if (high === undefined) return null;
  return sorted.length % 2 === 1 || low === undefined ? high : (low + high) / 2;
}

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
const ownTimeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

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
