import type { HeldAnswer, PendingRequest } from '@callboard/contract';

/** Whether an answer of this person is held back. */
export const isHeldBy = ({ held }: PendingRequest, name: string): boolean => held?.by === name;

const WORDS = { allowed: 'Allowed', denied: 'Denied', answered: 'Answered' } as const;

/** Returns an answer that is held back in one word: "Allowed". */
export const heldWord = ({ outcome }: HeldAnswer): string => WORDS[outcome];

/** Returns several of them in words: "5 allowed", "3 allowed, 2 denied". */
export function heldWords(held: readonly HeldAnswer[]): string {
  const counts = Map.groupBy(held, ({ outcome }) => outcome);
  return [...counts].map(([outcome, all]) => `${all.length} ${outcome}`).join(', ');
}
