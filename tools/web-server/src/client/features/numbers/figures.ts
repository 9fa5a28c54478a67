import {
  type BoardView,
  csvLine,
  type Numbers,
  type Project,
  type ProjectId,
  RequestKind,
  type StageId,
} from '@callboard/contract';
import { cost, exactDuration, exactTime } from '../../lib/format.ts';
import { requestKinds } from '../approvals/kinds/registry.ts';

/** A series of a chart. `look` is the number of its colour and pattern. */
export interface Series {
  key: string;
  label: string;
  check: number;
}

/** A bar, with a part for each series; parts of 0 are left out. */
export interface Bar {
  key: string;
  label: string;
  parts: Readonly<Record<string, number>>;
}

/** What a chart of bars draws. */
export interface BarFigure {
  measure: Measure;
  series: readonly Series[];
  bars: readonly Bar[];
  /** How many bars there are without those that found no room. */
  total: number;
}

/** A column of a table. `file`: its name in a CSV file, with the unit. */
export interface Column {
  title: string;
  file: string;
  measure: Measure | 'text' | 'day' | 'time';
}

/** What a table shows and a CSV file has. A cell is null if it is unknown. */
export interface TableFigure {
  columns: readonly Column[];
  rows: readonly (readonly (string | number | null)[])[];
}

/** A chart, and the same as a table. */
export interface Figure {
  chart: BarFigure;
  table: TableFigure;
}

/** How many bars a chart without days has at most. */
const MAX_BARS = 12;

const isText = ({ measure }: Column): boolean => measure === 'text' || measure === 'day' || measure === 'time';

/** Whether the cells of a column are numbers, which stand at the right. */
export const isNumber = (column: Column): boolean => !isText(column);

/** Returns a cell as people read it. */
export function formatCell({ measure }: Column, value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'string') return measure === 'time' ? exactTime(value) : value;
  return measure === 'text' || measure === 'day' || measure === 'time' ? String(value) : plainValue(measure, value);
}

/** Returns a table as a CSV file. Durations are in seconds, times in UTC. */
export const csvOf = ({ columns, rows }: TableFigure): string =>
  [columns.map(({ file }) => file), ...rows.map((row) => row.map((value, at) => fileValue(columns[at], value)))]
    .map(csvLine)
    .join('');

function fileValue(column: Column | undefined, value: string | number | null): string | number | null {
  if (typeof value !== 'number') return value;
  return column?.measure === 'duration' ? value / 1_000 : Number(value.toFixed(6));
}

// A day is the same everywhere, so it is written as if it were one of UTC.
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** A day in words: "31 Jan". */
export const formatDay = (day: string): string => DAY.format(new Date(day));

const DAY_MS = 24 * 3_600_000;

/** All days from the first to the last. */
export function daysBetween(from: string, to: string): string[] {
  const count = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
  return Array.from({ length: count }, (_, at) => new Date(Date.parse(from) + at * DAY_MS).toISOString().slice(0, 10));
}

export const sumOf = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0);

/** Adds up the values of each key, the keys in the order in which they come first. */
export function addUp<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  amountOf: (item: T) => number,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const item of items) sums.set(keyOf(item), (sums.get(keyOf(item)) ?? 0) + amountOf(item));
  return sums;
}

/** What a value measures; it decides how the value is written and where an axis has its ticks. */
export type Measure = 'duration' | 'money' | 'tokens' | 'count' | 'percent';

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** Writes a value in full: "1 h 5 min", "$4.20", "812,000 tokens". */
export function formatValue(measure: Measure, value: number): string {
  switch (measure) {
    case 'duration':
      return exactDuration(value);
    case 'money':
      return cost(value);
    case 'tokens':
      return `${WHOLE.format(value)} tokens`;
    case 'count':
      return WHOLE.format(value);
    case 'percent':
      return `${Math.round(value)}%`;
  }
}

/** Writes a value beneath the name of what it measures. */
const plainValue = (measure: Measure, value: number): string =>
  formatValue(measure === 'tokens' ? 'count' : measure, value);

/** Writes a value as short as a chart needs it: "1 h", "$4.20", "812K". */
export function shortValue(measure: Measure, value: number): string {
  if (measure === 'duration') return value === 0 ? '0' : durationValue(value);
  if (measure === 'tokens' || measure === 'count') return COMPACT.format(value);
  if (measure === 'money') return value >= 10 || Number.isInteger(value) ? `$${WHOLE.format(value)}` : cost(value);
  return formatValue(measure, value);
}

/** A duration in one unit: "90 min", "2.5 h". */
function durationValue(ms: number): string {
  const [unitMs, unit] = UNITS.find(([unitMs]) => ms >= 2 * unitMs) ?? [SECOND_MS, 's'];
  const value = ms / unitMs;
  return `${Number(value.toFixed(value < 10 ? 1 : 0))} ${unit}`;
}

const UNITS = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'min'],
] as const;

const DURATION_STEPS = [
  ...[1, 2, 5, 10, 20, 30].map((n) => n * SECOND_MS),
  ...[1, 2, 5, 10, 20, 30].map((n) => n * MINUTE_MS),
  ...[1, 2, 4, 8, 12].map((n) => n * HOUR_MS),
  ...[2, 4, 7, 14, 28, 50, 100].map((n) => n * DAY_MS),
];
const MAX_TICKS = 5;

/** Returns where an axis from 0 to at least `max` has its ticks. */
export function ticksOf(measure: Measure, max: number): number[] {
  if (measure === 'percent') return [0, 25, 50, 75, 100];
  const step = max <= 0 ? 1 : stepOf(measure, max / MAX_TICKS);
  const last = Math.max(1, Math.ceil(max / step - 1e-9));
  return Array.from({ length: last + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

function stepOf(measure: Measure, least: number): number {
  const known = measure === 'duration' ? DURATION_STEPS.find((step) => step >= least) : undefined;
  if (known !== undefined) return known;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = ([1, 2, 5].find((n) => n * power >= least * (1 - 1e-9)) ?? 10) * power;
  return measure === 'money' ? step : Math.max(1, step);
}

/** The names of stages and projects. One that is unknown has its id. */
export interface Names {
  titleOf(stageId: StageId): string;
  /** The project's name; empty if unknown. */
  projectOf(stageId: StageId): string;
  projectName(projectId: ProjectId): string;
}

/** Looks names up: those of stages in the numbers, which have deleted ones too. */
export function namesOf(stages: Numbers['stages'], projects: readonly Pick<Project, 'id' | 'name'>[]): Names {
  const byId = new Map(stages.map((stage) => [stage.stageId, stage]));
  const names = new Map(projects.map(({ id, name }) => [id, name]));
  const projectName = (id: ProjectId) => names.get(id) ?? id;
  return {
    titleOf(stageId) {
      const stage = byId.get(stageId);
      return `${stage?.title ?? stageId}${stage?.isDeleted === true ? ' (deleted)' : ''}`;
    },
    projectOf(stageId) {
      const projectId = byId.get(stageId)?.projectId ?? null;
      return projectId === null ? '' : projectName(projectId);
    },
    projectName,
  };
}

/** How full the context of each session was when Claude Code last reported it, the fullest first. */
export function contextFigure({ stages, projects }: Pick<BoardView, 'stages' | 'projects'>): Figure {
  const names = new Map(projects.map(({ id, name }) => [id, name]));
  const used = stages
    .flatMap(({ id, title, projectId, session }) =>
      session?.contextUsage ? [{ id, title, project: names.get(projectId) ?? projectId, ...session.contextUsage }] : [],
    )
    .toSorted((a, b) => b.percentage - a.percentage);
  return {
    chart: {
      measure: 'percent',
      total: used.length,
      series: used.length === 0 ? [] : [{ key: 'used', label: 'Used', check: 1 }],
      bars: used
        .slice(0, MAX_BARS)
        .map(({ id, title, percentage }) => ({ key: id, label: title, parts: { used: percentage } })),
    },
    table: {
      columns: [
        { title: 'Stage', file: 'stage', measure: 'text' },
        { title: 'Project', file: 'project', measure: 'text' },
        { title: 'Used', file: 'used_tokens', measure: 'tokens' },
        { title: 'Limit', file: 'limit_tokens', measure: 'tokens' },
        { title: 'Full', file: 'percent', measure: 'percent' },
      ],
      rows: used.map(({ title, project, usedTokens, maxTokens, percentage }) => [
        ...[title, project],
        ...[usedTokens, maxTokens, percentage],
      ]),
    },
  };
}

export const RULE_VIEWS = ['day', 'rule'] as const;
type RuleView = (typeof RULE_VIEWS)[number];

const USES: Column = { title: 'Let through', file: 'let_through', measure: 'count' };
const SAVED: Column = { title: 'Saved about', file: 'saved_seconds_estimate', measure: 'duration' };

/** How many calls rules let through. */
export const ruledCallsOf = ({ rules }: Numbers): number => sumOf(rules.days, ({ count }) => count);

/** Returns an estimate: as if each call had waited as long as half of the answers took. Null without answers. */
export const savedMs = (numbers: Numbers): number | null =>
  numbers.rules.medianWaitMs === null ? null : ruledCallsOf(numbers) * numbers.rules.medianWaitMs;

/**
 * What rules saved, by day or by rule: time if it can be estimated, else how many calls they let through. A call that several rules let
 * through together counts once by day, and for each of them by rule.
 */
export function rulesFigure(numbers: Numbers, view: RuleView, { projectName }: Names): Figure {
  const { days: calls, uses, texts, medianWaitMs } = numbers.rules;
  const isKnown = medianWaitMs !== null;
  const amountOf = (count: number) => (isKnown ? count * medianWaitMs : count);
  const columns = isKnown ? [USES, SAVED] : [USES];
  const cells = (count: number) => (isKnown ? [count, count * medianWaitMs] : [count]);
  const check = {
    measure: isKnown ? 'duration' : 'count',
    series: uses.length === 0 ? [] : [{ key: 'all', label: isKnown ? 'Saved about' : 'Let through', check: 1 }],
  } as const;
  const bar = (key: string, label: string, count: number) => ({ key, label, parts: { all: amountOf(count) } });
  if (view === 'day') {
    const of = new Map(calls.map(({ day, count }) => [day, count]));
    const days = daysBetween(numbers.from, numbers.to);
    return {
      chart: { ...check, bars: days.map((day) => bar(day, formatDay(day), of.get(day) ?? 0)), total: days.length },
      table: {
        columns: [{ title: 'Day', file: 'day', measure: 'day' }, ...columns],
        rows: [...of].map(([day, count]) => [day, ...cells(count)]),
      },
    };
  }
  const known = new Map(texts.map((text) => [text.ruleId, text]));
  const rules = [
    ...addUp(
      uses,
      ({ ruleId }) => ruleId,
      ({ count }) => count,
    ),
  ].toSorted(([, a], [, b]) => b - a);
  const textOf = (ruleId: string) => known.get(ruleId)?.rule ?? ruleId;
  return {
    chart: {
      ...check,
      bars: rules.slice(0, MAX_BARS).map(([ruleId, count]) => bar(ruleId, textOf(ruleId), count)),
      total: rules.length,
    },
    table: {
      columns: [
        { title: 'Rule', file: 'rule', measure: 'text' },
        { title: 'Project', file: 'project', measure: 'text' },
        ...columns,
      ],
      rows: rules.map(([ruleId, count]) => {
        const projectId = known.get(ruleId)?.projectId;
        return [textOf(ruleId), projectId === undefined ? '' : projectName(projectId), ...cells(count)];
      }),
    },
  };
}

export const SPENDING_VIEWS = ['day', 'project'] as const;
type SpendingView = (typeof SPENDING_VIEWS)[number];
export const SPENDING_MEASURES = ['money', 'tokens'] as const;
type SpendingMeasure = (typeof SPENDING_MEASURES)[number];

type Spent = Numbers['spending']['days'][number];

const COST: Column = { title: 'Cost', file: 'cost_usd', measure: 'money' };
const TOKENS: Column = { title: 'Tokens', file: 'tokens', measure: 'tokens' };
const PROJECT: Column = { title: 'Project', file: 'project', measure: 'text' };

/** So many projects have a look of their own; the rest are one series. */
const MAX_SERIES = 5;
const REST = 'the rest'; // no id of a project has a space

/** What Claude cost, in money or tokens, by day or by project. */
export function spendingFigure(
  { spending }: Pick<Numbers, 'spending'>,
  { view, measure }: { view: SpendingView; measure: SpendingMeasure },
  { projectName }: Names,
): Figure {
  const amountOf = ({ usd, tokens }: Spent) => (measure === 'money' ? usd : tokens);
  const projects = [...addUp(spending.days, ({ projectId }) => projectId, amountOf)].toSorted(([, a], [, b]) => b - a);
  const named = new Map<string, Series>();
  const nameOf = new Map(spending.days.map(({ projectId }) => [String(projectId), projectName(projectId)]));
  for (const [key] of projects.slice(0, MAX_SERIES))
    named.set(key, { key, label: nameOf.get(key) ?? key, check: named.size + 1 });
  const hasRest = projects.length > MAX_SERIES;
  const series = [
    ...named.values(),
    ...(hasRest ? [{ key: REST, label: 'Other projects', check: MAX_SERIES + 1 }] : []),
  ];
  const seriesOf = (projectId: string) => (named.has(projectId) ? projectId : REST);
  if (view === 'project')
    return {
      chart: {
        measure,
        series,
        total: projects.length,
        bars: projects
          .slice(0, MAX_BARS)
          .map(([key, value]) => ({ key, label: nameOf.get(key) ?? key, parts: { [seriesOf(key)]: value } })),
      },
      table: {
        columns: [PROJECT, COST, TOKENS],
        rows: projects.map(([key]) => {
          const of = spending.days.filter(({ projectId }) => projectId === key);
          return [nameOf.get(key) ?? key, sumOf(of, ({ usd }) => usd), sumOf(of, ({ tokens }) => tokens)];
        }),
      },
    };
  const days = daysBetween(spending.from, spending.to);
  const byDay = Map.groupBy(spending.days, ({ day }) => day);
  return {
    chart: {
      measure,
      series,
      total: days.length,
      bars: days.map((day) => ({
        key: day,
        label: formatDay(day),
        parts: Object.fromEntries(addUp(byDay.get(day) ?? [], ({ projectId }) => seriesOf(projectId), amountOf)),
      })),
    },
    table: {
      columns: [{ title: 'Day', file: 'day', measure: 'day' }, PROJECT, COST, TOKENS],
      rows: spending.days.map(({ day, projectId, usd, tokens }) => [day, projectName(projectId), usd, tokens]),
    },
  };
}

export const WAIT_VIEWS = ['day', 'stage', 'kind'] as const;
type WaitView = (typeof WAIT_VIEWS)[number];

type Wait = Pick<Numbers['waits']['days'][number], 'kind' | 'count' | 'waitedMs'>;

const WAITED: Column = { title: 'Waited', file: 'waited_seconds', measure: 'duration' };
const REQUESTS: Column = { title: 'Requests', file: 'requests', measure: 'count' };
const AVERAGE: Column = { title: 'On average', file: 'average_seconds', measure: 'duration' };
const KIND: Column = { title: 'Kind', file: 'kind', measure: 'text' };

/** The kinds that waited, each with a look of its own that does not depend on the others. */
const seriesOf = (waits: readonly Wait[]): Series[] =>
  RequestKind.options.flatMap((kind, at) =>
    waits.some((wait) => wait.kind === kind) ? [{ key: kind, label: requestKinds[kind].name, check: at + 1 }] : [],
  );

const waitedOf = (waits: readonly Wait[]): number => sumOf(waits, ({ waitedMs }) => waitedMs);
const countOf = (waits: readonly Wait[]): number => sumOf(waits, ({ count }) => count);
const partsOf = (waits: readonly Wait[]): Record<string, number> =>
  Object.fromEntries(waits.map(({ kind, waitedMs }) => [kind, waitedMs]));
const kindName = (kind: RequestKind): string => requestKinds[kind].name;
const averageOf = (waits: readonly Wait[]): number => waitedOf(waits) / Math.max(1, countOf(waits));

/** How long Claude waited for people, by day, by stage or by kind of request. */
export function waitsFigure({ from, to, waits }: Numbers, view: WaitView, names: Names): Figure {
  if (view === 'day') return byDay(daysBetween(from, to), waits.days);
  if (view === 'stage') return byStage(waits.stages, names);
  return byKind(waits.days);
}

function byDay(days: readonly string[], waits: Numbers['waits']['days']): Figure {
  const of = Map.groupBy(waits, ({ day }) => day);
  return {
    chart: {
      measure: 'duration',
      series: seriesOf(waits),
      total: days.length,
      bars: days.map((day) => ({ key: day, label: formatDay(day), parts: partsOf(of.get(day) ?? []) })),
    },
    table: {
      columns: [{ title: 'Day', file: 'day', measure: 'day' }, KIND, REQUESTS, WAITED],
      rows: waits.map(({ day, kind, count, waitedMs }) => [day, kindName(kind), count, waitedMs]),
    },
  };
}

function byStage(waits: Numbers['waits']['stages'], { titleOf, projectOf }: Names): Figure {
  const stages = [...Map.groupBy(waits, ({ stageId }) => stageId)]
    .map(([stageId, of]) => ({ stageId, of, waitedMs: waitedOf(of) }))
    .toSorted((a, b) => b.waitedMs - a.waitedMs);
  return {
    chart: {
      measure: 'duration',
      series: seriesOf(waits),
      total: stages.length,
      bars: stages
        .slice(0, MAX_BARS)
        .map(({ stageId, of }) => ({ key: stageId, label: titleOf(stageId), parts: partsOf(of) })),
    },
    table: {
      columns: [
        { title: 'Stage', file: 'stage', measure: 'text' },
        { title: 'Project', file: 'project', measure: 'text' },
        ...[KIND, REQUESTS, WAITED],
      ],
      rows: stages.flatMap(({ stageId, of }) =>
        of.map(({ kind, count, waitedMs }) => [
          ...[titleOf(stageId), projectOf(stageId), kindName(kind)],
          ...[count, waitedMs],
        ]),
      ),
    },
  };
}

function byKind(waits: Numbers['waits']['days']): Figure {
  const kinds = [...Map.groupBy(waits, ({ kind }) => kind)].toSorted(([, a], [, b]) => waitedOf(b) - waitedOf(a));
  return {
    chart: {
      measure: 'duration',
      series: seriesOf(waits),
      total: kinds.length,
      bars: kinds.map(([kind, of]) => ({ key: kind, label: kindName(kind), parts: { [kind]: waitedOf(of) } })),
    },
    table: {
      columns: [KIND, REQUESTS, WAITED, AVERAGE],
      rows: kinds.map(([kind, of]) => [kindName(kind), countOf(of), waitedOf(of), averageOf(of)]),
    },
  };
}

/** How many days the page can show. */
export const RANGES = [7, 30, 90] as const;
const USUAL = 30;

/** Returns the number of days that the address asks for; the usual one if it asks for none that the page has. */
export const readRange = (params: URLSearchParams): number =>
  RANGES.find((days) => String(days) === params.get('range')) ?? USUAL;

/** Returns the view of a chart that the address asks for; the first one if it asks for none that the chart has. */
export const readView = <View extends string>(
  params: URLSearchParams,
  name: string,
  views: readonly [View, ...View[]],
): View => views.find((view) => view === params.get(name)) ?? views[0];

/** Returns the address with one value changed. */
export function withValue(params: URLSearchParams, name: string, value: string): URLSearchParams {
  const changed = new URLSearchParams(params);
  changed.set(name, value);
  return changed;
}
