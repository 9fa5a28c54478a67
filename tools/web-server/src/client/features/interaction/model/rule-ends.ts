const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** When a rule may end, for a choice. */
export const RULE_ENDS = [
  { value: 'never', label: 'no end', lastsMs: null },
  { value: 'hour', label: '1 hour', lastsMs: HOUR_MS },
  { value: 'day', label: '1 day', lastsMs: DAY_MS },
  { value: 'week', label: '1 week', lastsMs: 7 * DAY_MS },
  { value: 'month', label: '30 days', lastsMs: 30 * DAY_MS },
] as const;

/** The end date of a choice, from now on; undefined for a rule without an end. */
export function ruleEnd(choice: string, now: number): string | undefined {
  const lastsMs = RULE_ENDS.find(({ value }) => value === choice)?.lastsMs ?? null;
  return lastsMs === null ? undefined : new Date(now + lastsMs).toISOString();
}
