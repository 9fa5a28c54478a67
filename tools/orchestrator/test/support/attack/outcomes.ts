import type { Outcome } from './targets.ts';

export const reached = (detail: string): Outcome => ({ result: 'reached', detail });
export const refused = (detail: string): Outcome => ({ result: 'refused', detail });
/** @param tool the program, or other thing of the machine, that is not there. */
export const missing = (tool: string): Outcome => ({ result: 'missing', detail: tool });

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The first way that works; else what the others said. An error of the system is a refusal. */
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
