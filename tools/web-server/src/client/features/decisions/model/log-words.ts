import { byWhom, type Decision, type DecisionSource, type RequestOutcome } from '@callboard/contract';
import { denierWords } from '../../../lib/denial-words.ts';
import { exactDuration } from '../../../lib/format.ts';
import { requestKinds } from '../../interaction/kinds/registry.ts';
import { deliveryWords, isChanged } from '../../interaction/words/decision-words.ts';

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

/** Returns the outcome and who decided: "Denied by Ada from Terminal on desk". */
export const verdictWords = (decision: Decision): string => {
  const { outcome, kind, denial } = decision;
  if (denial !== null) return 'Denied by Claude Code';
  const word = outcome === 'denied' ? requestKinds[kind].denied : OUTCOME_WORDS[outcome];
  return `${word}${isChanged(decision) ? ' with changes' : ''} ${byWhom(decision)}`.trim();
};

/** Returns how long Claude waited; or what denied the call in Claude Code, if nobody was asked. */
export const waitWords = ({ denial, waitedMs }: Decision): string =>
  denial === null ? `Claude waited ${exactDuration(waitedMs)}` : `By ${denierWords(denial)}`;

/** Returns how the answer reached Claude; null if there was none. */
export const arrivalWords = (decision: Decision): string | null =>
  decision.delivery === 'confirmed' ? 'confirmed by Claude' : deliveryWords(decision);
