import type { Decision, Question } from '@callboard/contract';
import { deniedWords } from '../../../lib/denial-words.ts';
import { exactDuration } from '../../../lib/format.ts';
import { requestKinds } from '../kinds/registry.ts';

const byWhom = (by: string | null) => (by === null ? '' : ` by ${by}`);

/** Whether another input ran than the one that Claude had asked for. */
export const isChanged = ({ kind, outcome, updatedInput }: Decision) =>
  requestKinds[kind].showsChangedInput && outcome === 'allowed' && updatedInput !== null;

/** A decision in one line: "Allowed by Ada after 4 min 12 s". The time is how long Claude waited. */
export function decisionWords(decision: Decision): string {
  const waited = exactDuration(decision.waitedMs);
  switch (decision.outcome) {
    case 'allowed':
      return `Allowed${isChanged(decision) ? ' with changes' : ''}${byWhom(decision.by)} after ${waited}`;
    case 'denied':
      if (decision.denial !== null) return deniedWords(decision.denial);
      return `${requestKinds[decision.kind].denied}${byWhom(decision.by)} after ${waited}`;
    case 'answered':
      return `Answered${byWhom(decision.by)} after ${waited}`;
    case 'timed-out':
      return `Timed out, nobody answered for ${waited}`;
    case 'closed':
      return `Closed without an answer after ${waited}`;
    default:
      return decision.outcome satisfies never;
  }
}

/**
 * What was answered, in one line: "PostgreSQL; Tests: yes". The first goes without its question, which stands above it; the
 * others have the short name that Claude gave them. Null where nothing was.
 */
export function answerWords({ answers, outcome }: Decision, questions: readonly Question[]): string | null {
  if (outcome !== 'answered' || answers === null) return null;
  const headers = new Map(questions.map(({ question, header }) => [question, header ?? '']));
  const given = [...headers.keys(), ...Object.keys(answers).filter((question) => !headers.has(question))]
    .filter((question) => Object.hasOwn(answers, question))
    .map((question) => ({ name: headers.get(question) || question, answer: answers[question] ?? '' }));
  return given.map(({ name, answer }, index) => (index === 0 ? answer : `${name}: ${answer}`)).join('; ') || null;
}

/** How far the answer got, while that is worth saying; null once Claude has confirmed it. */
export function deliveryWords(decision: Decision): string | null {
  switch (decision.delivery) {
    case 'confirmed':
    case 'none':
      return null;
    case 'accepted':
      return 'stored, not yet handed to Claude';
    case 'written':
      return 'handed to Claude, not yet confirmed';
    case 'not-applied':
      return 'not applied: the request was withdrawn first';
    case 'unknown':
      return `not known whether it took effect: the process ended before confirming${settledWords(decision)}`;
    default:
      return decision.delivery satisfies never;
  }
}

/** What a person made of an answer whose fate is unknown: "; sent to Claude again by Ada". */
function settledWords({ settlement }: Decision): string {
  if (settlement === null) return '';
  return `; ${settlement.how === 'retried' ? 'sent to Claude again' : 'dismissed'} by ${settlement.by}`;
}

/** What a person or the time limit decided first; null for a request that was closed without a decision. */
export const decisionThatStands = ({ decision }: { decision: Decision | null }): Decision | null =>
  decision === null || decision.outcome === 'closed' ? null : decision;
