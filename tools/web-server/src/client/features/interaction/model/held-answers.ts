import type { DelayedAnswer, PendingRequest } from '@callboard/contract';

/** Whether an answer of this person is held back. */
export const isDelayedBy = ({ held }: PendingRequest, name: string): boolean => held?.by === name;

const TEXTS = { allowed: 'Allowed', denied: 'Denied', answered: 'Answered' } as const;

/** Returns an answer that is held back in one word: "Allowed". */
export const delayedLabel = ({ outcome }: DelayedAnswer): string => TEXTS[outcome];

/** Returns several of them in words: "5 allowed", "3 allowed, 2 denied". */
export function delayedText(held: readonly DelayedAnswer[]): string {
  const counts = Map.groupBy(held, ({ outcome }) => outcome);
  return [...counts].map(([outcome, all]) => `${all.length} ${outcome}`).join(', ');
}
