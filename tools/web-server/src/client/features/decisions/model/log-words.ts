import { byWhom, type Decision, type DecisionSource, type RequestOutcome } from '@callboard/contract';
import { denierText } from '../../../lib/denial-words.ts';
import { exactDuration } from '../../../lib/format.ts';
import { requestKinds } from '../../interaction/kinds/registry.ts';
import { deliveryText, isChanged } from '../../interaction/words/decision-words.ts';

export const OUTCOME_TEXTS: Record<RequestOutcome, string> = {
  allowed: 'Allowed',
  denied: 'Denied',
  answered: 'Answered',
  'timed-out': 'Timed out',
  closed: 'Closed without an answer',
};

/** Who or what decides. */
export const LOG_SOURCE_TEXTS: Record<DecisionSource, string> = {
  person: 'A person was asked',
  mode: 'Claude Code: its mode',
  rule: 'Claude Code: a rule',
  hook: 'Claude Code: a hook',
  unknown: 'Claude Code: not told',
};

/** Returns the outcome and who decided: "Denied by Ada from Terminal on desk". */
export const verdictLabel = (decision: Decision): string => {
  const { outcome, kind, denial } = decision;
  if (denial !== null) return 'Denied by Claude Code';
  const word = outcome === 'denied' ? requestKinds[kind].denied : OUTCOME_TEXTS[outcome];
  return `${word}${isChanged(decision) ? ' with changes' : ''} ${byWhom(decision)}`.trim();
};

/** Returns how long Claude waited; or what denied the call in Claude Code, if nobody was asked. */
export const waitText = ({ denial, waitedMs }: Decision): string =>
  denial === null ? `Claude waited ${exactDuration(waitedMs)}` : `By ${denierText(denial)}`;

/** Returns how the answer reached Claude; null if there was none. */
export const arrivalText = (decision: Decision): string | null =>
  decision.delivery === 'confirmed' ? 'confirmed by Claude' : deliveryText(decision);
