import type { SideRun, StageReview, StageView } from '@callboard/contract';
import { count } from './format.ts';

/** Claude's review of the phase, if a person decides about it or it has no result; null otherwise. */
export const openReview = ({ session }: Pick<StageView, 'session'>): StageReview | null => {
  const review = session?.review ?? null;
  if (session === null || review === null) return null;
  return session.atGate || reviewProblem(review.state) !== null ? review : null;
};

/** Why a review has no result: "Review failed". Null for one that has, or that is not over. */
export function reviewProblem(state: SideRun['state']): string | null {
  switch (state) {
    case 'failed':
      return 'Review failed';
    case 'timed-out':
      return 'Review ran too long';
    case 'stopped':
      return 'Review stopped';
    case 'interrupted':
      return 'Review ended by a restart';
    case 'waiting':
    case 'running':
    case 'done':
      return null;
    default:
      return state satisfies never;
  }
}

/** What a person is to look at: "Review: 3 findings", "Review failed". */
export const reviewText = ({ state, findings }: Pick<StageReview, 'state' | 'findings'>): string =>
  reviewProblem(state) ?? (findings === 0 ? 'Review found nothing' : `Review: ${count(findings, 'finding')}`);

/** How the review after the last phase ended; null if there was none, or if Claude has worked since. */
export function lastReview({ session }: Pick<StageView, 'session'>): StageReview | null {
  const review = session?.review ?? null;
  if (review === null || review.state === 'waiting' || review.state === 'running') return null;
  const worked = session?.lastTurn?.at;
  return worked === undefined || worked <= review.since ? review : null;
}
