/** The median of some durations, and the spread around it. */
export interface Figures {
  medianMs: number;
  p90Ms: number;
}

/** The smallest value that at least this share of all values does not exceed; NaN for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function figures(durationsMs: readonly number[]): Figures {
  return { medianMs: percentile(durationsMs, 0.5), p90Ms: percentile(durationsMs, 0.9) };
}
