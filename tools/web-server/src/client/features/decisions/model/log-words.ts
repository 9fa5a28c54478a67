import type { Decision, DecisionSource, RequestKind, RequestOutcome } from '@callboard/contract';
import { deliveryWords, isChanged } from '../../../lib/decision-words.ts';
import { denierWords } from '../../../lib/denial-words.ts';
import { exactDuration } from '../../../lib/format.ts';

export const KIND_WORDS: Record<RequestKind, string> = {
  approval: 'Tool call',
  question: 'Question',
  plan: 'Plan',
  elicitation: 'Form',
  network: 'Network',
};

export const OUTCOME_WORDS: Record<RequestOutcome, string> = {
  allowed: 'Allowed',
  denied: 'Denied',
  answered: 'Answered',
  'timed-out': 'Timed out',
  closed: 'Closed without an answer',
};

/** Who or what decides. */
export const LOG_SOURCE_WORDS: Record<DecisionSource, string> = {
  person: 'A person was asked',
  mode: 'Claude Code: its mode',
  rule: 'Claude Code: a rule',
  hook: 'Claude Code: a hook',
  unknown: 'Claude Code: not told',
};

/** "Denied by Ada". */
export const verdictWords = (decision: Decision): string => {
  const { outcome, kind, by, denial } = decision;
  if (denial !== null) return 'Denied by Claude Code';
  const word = outcome === 'denied' && kind === 'question' ? 'Declined' : OUTCOME_WORDS[outcome];
  return `${word}${isChanged(decision) ? ' with changes' : ''}${by === null ? '' : ` by ${by}`}`;
};

/** How long Claude waited; or what of Claude Code denied it, where nobody was asked. */
export const waitWords = ({ denial, waitedMs }: Decision): string =>
  denial === null ? `Claude waited ${exactDuration(waitedMs)}` : `By ${denierWords(denial)}`;

/** How the answer got to Claude; null where there was none. */
export const arrivalWords = (decision: Decision): string | null =>
  decision.delivery === 'confirmed' ? 'confirmed by Claude' : deliveryWords(decision);
