import { cost, exactDuration } from '../../../lib/format.ts';

/** What a value measures; it decides how the value is written and where an axis has its ticks. */
export type Measure = 'duration' | 'money' | 'tokens' | 'count' | 'percent';

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];
const DAY_MS = 24 * HOUR_MS;

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
export const plainValue = (measure: Measure, value: number): string =>
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
