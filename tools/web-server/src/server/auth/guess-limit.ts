import { Rejection } from '../errors.ts';

export interface GuessLimit {
  /** Whether the orchestrator has said once that this token is good. */
  isKnown(key: string): boolean;
  /** Before an unknown one is asked about. @throws Rejection `too_many_requests` */
  count(): void;
  remember(key: string): void;
}

const MAX_KEPT = 1_000;

/** So many unknown API tokens are asked about in a second; those that were good once do not wait for those who guess. */
export function createGuessLimit(guessesPerSecond: number, now: () => number): GuessLimit {
  const known = new Set<string>();
  let guesses = { count: 0, until: 0 };
  return {
    isKnown: (key) => known.has(key),
    count() {
      if (guesses.until <= now()) guesses = { count: 0, until: now() + 1_000 };
      guesses.count += 1;
      if (guesses.count <= guessesPerSecond) return;
      throw new Rejection('too_many_requests', 'Too many unknown API tokens are tried just now. Wait a moment.');
    },
    remember(key) {
      known.add(key);
      const [oldest] = known;
      if (known.size > MAX_KEPT && oldest !== undefined) known.delete(oldest);
    },
  };
}
