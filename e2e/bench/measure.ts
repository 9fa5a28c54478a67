/** The middle of some durations, and the spread around it. */
export interface Figures {
  medianMs: number;
  p90Ms: number;
}

export function figures(durationsMs: readonly number[]): Figures {
  const sorted = durationsMs.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { medianMs: at(0.5), p90Ms: at(0.9) };
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
