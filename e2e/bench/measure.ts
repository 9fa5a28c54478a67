/** The middle of some durations, and the spread around it. */
export interface Figures {
  medianMs: number;
  p90Ms: number;
}

/** The smallest value that at least this share of all values does not exceed; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function figures(durationsMs: readonly number[]): Figures {
  return { medianMs: percentile(durationsMs, 0.5), p90Ms: percentile(durationsMs, 0.9) };
}

/** A table on the console: what was measured, its baseline, and how many times that it takes. */
export function printTable(rows: readonly { name: string; measured: Figures; baseline: Figures }[]): void {
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  console.table(
    Object.fromEntries(
      rows.map(({ name, measured, baseline }) => [
        name,
        {
          'raw pipe': ms(baseline.medianMs),
          callboard: ms(measured.medianMs),
          'callboard p90': ms(measured.p90Ms),
          ratio: (measured.medianMs / baseline.medianMs).toFixed(2),
          added: ms(measured.medianMs - baseline.medianMs),
        },
      ]),
    ),
  );
}
