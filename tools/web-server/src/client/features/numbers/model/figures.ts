import { csvLine } from '@callboard/contract';
import { exactTime } from '../../../lib/format.ts';
import { type Measure, plainValue } from './measures.ts';

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
export const MAX_BARS = 12;

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
