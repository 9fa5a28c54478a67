import type { Decision } from '@callboard/contract';

/** What a person or the time limit decided first; null for a request that was closed without a decision. */
export const decisionThatStands = ({ decision }: { decision: Decision | null }): Decision | null =>
  decision === null || decision.outcome === 'closed' ? null : decision;
