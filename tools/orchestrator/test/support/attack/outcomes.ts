import type { Outcome } from './targets.ts';

export const reached = (detail: string): Outcome => ({ result: 'reached', detail });
export const refused = (detail: string): Outcome => ({ result: 'refused', detail });
/** @param tool the missing program or other part of the machine */
export const missing = (tool: string): Outcome => ({ result: 'missing', detail: tool });

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Returns the first outcome that is not a refusal; otherwise a refusal with all error texts. A system error is a refusal. */
export function firstOf(ways: readonly (() => Outcome)[]): Outcome {
  const said: string[] = [];
  for (const way of ways) {
    try {
      const outcome = way();
      if (outcome.result !== 'refused') return outcome;
      said.push(outcome.detail);
    } catch (error) {
      said.push(messageOf(error));
    }
  }
  return refused([...new Set(said)].slice(0, 5).join('; '));
}
