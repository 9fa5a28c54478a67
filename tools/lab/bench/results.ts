import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** A number that a bench measured; with a goal if it has to be good enough. */
const Figure = z.object({
  /** A description. Figures of two runs are matched by it. */
  name: z.string(),
  value: z.number(),
  /** `ms`, `s`, `MB`, `/s`; `x` for a ratio. */
  unit: z.string(),
  /** The reference measured in the same run, in words and numbers: `relay 112.3 ms`. */
  baseline: z.string().optional(),
  atMost: z.number().optional(),
  atLeast: z.number().optional(),
  /**
   * How far it would lie from its value in another run, as a standard error (`noiseOf`). A figure that has it must not grow: a run
   * fails if it is worse than in the recorded run.
   */
  noise: z.number().optional(),
});
export type Figure = z.infer<typeof Figure>;

/** The JSON that one run of `npm run bench` keeps: the figures of each bench, by its name. */
export const Results = z.object({
  at: z.iso.datetime(),
  commit: z.string(),
  benches: z.record(z.string(), z.array(Figure)),
});
export type Results = z.infer<typeof Results>;

/** The runs that later ones must not fall behind, one for each bench (`recorded.json`). */
export const Recorded = z.record(
  z.string(),
  z.object({
    at: z.iso.datetime(),
    commit: z.string(),
    /** What other programs did to the machine: the load average of a minute over the number of cores. */
    load: z.number(),
    figures: z.array(Figure),
  }),
);
export type Recorded = z.infer<typeof Recorded>;

/** Where the benches of a run leave their figures for `bench.ts`; each bench has its own file. */
const folder = process.env.BENCH_RESULTS;

/**
 * Hands over the figures of a bench, once, at its end. They are compared with an earlier run and kept; those with a
 * goal appear in the table of goals at the end of `npm run bench`.
 */
export function report(bench: string, figures: readonly Figure[]): void {
  if (folder === undefined) console.table(goalsTable({ [bench]: figures }));
  else writeFileSync(join(folder, `${bench}.json`), JSON.stringify(figures));
}

/** Parses the file of a bench into its figures. */
export const parseFigures = (text: string): Figure[] => z.array(Figure).parse(JSON.parse(text));

const digits = (value: number): string => value.toFixed(Math.abs(value) >= 1_000 ? 0 : Math.abs(value) >= 20 ? 1 : 2);
const withUnit = (value: number, unit: string): string =>
  unit === 'x' || unit.startsWith('/') ? `${digits(value)}${unit}` : `${digits(value)} ${unit}`;

/** Whether a figure meets its goal; null if it has none. */
export function isMet({ value, atMost, atLeast }: Figure): boolean | null {
  if (atMost === undefined && atLeast === undefined) return null;
  return value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY);
}

type Table = Record<string, Record<string, string>>;
type Benches = Readonly<Record<string, readonly Figure[]>>;

function rows(benches: Benches, row: (figure: Figure, bench: string) => Record<string, string> | null): Table {
  return Object.fromEntries(
    Object.entries(benches).flatMap(([bench, figures]) =>
      figures.flatMap((figure) => {
        const cells = row(figure, bench);
        return cells === null ? [] : [[`${bench}: ${figure.name}`, cells]];
      }),
    ),
  );
}

/** Returns every figure with a goal: its value, its reference, and whether it meets the goal. */
export function goalsTable(benches: Benches): Table {
  return rows(benches, (figure) => {
    const met = isMet(figure);
    if (met === null) return null;
    const { value, unit, baseline = '', atMost, atLeast } = figure;
    const goal = atMost === undefined ? `at least ${digits(atLeast ?? 0)}` : `at most ${digits(atMost)}`;
    return { measured: withUnit(value, unit), goal, baseline, met: met ? 'yes' : 'NO' };
  });
}

/** How many standard errors of both runs a figure may be worse than the recorded one. */
const TOLERATED_ERRORS = 3;

/** Returns every figure that is worse than in the recorded run by more than the noise of both runs. */
export function regressionsTable(recorded: Recorded, after: Benches): Table {
  return rows(after, ({ name, value, unit, noise }, bench) => {
    const earlier = recorded[bench]?.figures.find((figure) => figure.name === name);
    if (earlier?.noise === undefined || noise === undefined) return null;
    const tolerated = TOLERATED_ERRORS * Math.hypot(noise, earlier.noise);
    if (value <= earlier.value + tolerated) return null;
    return {
      recorded: withUnit(earlier.value, unit),
      now: withUnit(value, unit),
      'at most': withUnit(earlier.value + tolerated, unit),
    };
  });
}

/** Returns every figure that two runs have in common, with the ratio of the later value to the earlier one. */
export function comparisonTable(before: Benches, after: Benches): Table {
  return rows(after, ({ name, value, unit }, bench) => {
    const earlier = before[bench]?.find((figure) => figure.name === name);
    if (earlier === undefined) return null;
    const ratio = earlier.value === 0 ? '' : (value / earlier.value).toFixed(2);
    return { before: withUnit(earlier.value, unit), after: withUnit(value, unit), ratio };
  });
}
