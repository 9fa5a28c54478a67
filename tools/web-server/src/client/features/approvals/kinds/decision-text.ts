import { byWhom, type Decision, type Question } from '@callboard/contract';
import { deniedText } from '../../../lib/denial-text.ts';
import { exactDuration } from '../../../lib/format.ts';
import { requestKinds } from './registry.ts';

const byPerson = (decision: Decision) => (decision.by === null ? '' : ` ${byWhom(decision)}`);

/** Returns a decision as the person of this name reads it: what they decided was decided "by you", on whatever device. */
export function asReadBy(me: string, decision: Decision): Decision {
  const { device: _, ...rest } = decision;
  return decision.by === me && me !== '' ? { ...rest, by: 'you' } : decision;
}

/** Whether the input that ran differs from the one Claude asked for. */
export const isChanged = ({ kind, outcome, updatedInput }: Decision) =>
  requestKinds[kind].showsChangedInput && outcome === 'allowed' && updatedInput !== null;

/** Returns what was allowed beside what was asked for: " with changes and packages.example", or nothing. */
export function withText(decision: Decision): string {
  const { hosts = [] } = decision;
  const parts = [...(isChanged(decision) ? ['changes'] : []), ...(hosts.length > 0 ? [hosts.join(', ')] : [])];
  return parts.length === 0 ? '' : ` with ${parts.join(' and ')}`;
}

/** Returns a decision in one line: "Allowed by Ada from Terminal on desk after 4 min 12 s". The time is how long Claude waited. */
export function decisionText(decision: Decision): string {
  const waited = exactDuration(decision.waitedMs);
  switch (decision.outcome) {
    case 'allowed':
      return `Allowed${withText(decision)}${byPerson(decision)} after ${waited}`;
    case 'denied':
      if (decision.denial !== null) return deniedText(decision.denial);
      return `${requestKinds[decision.kind].denied}${byPerson(decision)} after ${waited}`;
    case 'answered':
      return `Answered${byPerson(decision)} after ${waited}`;
    case 'timed-out':
      return `Timed out, nobody answered for ${waited}`;
    case 'closed':
      return `Closed without an answer after ${waited}`;
    default:
      return decision.outcome satisfies never;
  }
}

/**
 * Returns the answers in one line, each after its question's short name, or the question itself if Claude gave it none:
 * "Database: PostgreSQL; Write tests? yes". Null if there are no answers.
 */
export function answerText({ answers, outcome }: Decision, questions: readonly Question[]): string | null {
  if (outcome !== 'answered' || answers === null) return null;
  const headers = new Map(questions.map(({ question, header }) => [question, header ?? '']));
  const given = [...headers.keys(), ...Object.keys(answers).filter((question) => !headers.has(question))]
    .filter((question) => Object.hasOwn(answers, question))
    .map((question) => {
      const name = headers.get(question) || question;
      return `${name}${/[?？]$/.test(name) ? '' : ':'} ${answers[question] ?? ''}`;
    });
  return given.join('; ') || null;
}

/** Returns the delivery state of the answer in words; null once Claude has confirmed it. */
export function deliveryText(decision: Decision): string | null {
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
      return `not known whether it took effect: the process ended before confirming${settledText(decision)}`;
    default:
      return decision.delivery satisfies never;
  }
}

/** Returns how a person settled an answer whose fate is unknown: "; sent to Claude again by Ada". */
function settledText({ settlement }: Decision): string {
  if (settlement === null) return '';
  return `; ${settlement.how === 'retried' ? 'sent to Claude again' : 'dismissed'} by ${settlement.by}`;
}

/** Returns the decision of a person or of the time limit; null for a request that was closed without one. */
export const decisionThatStands = ({ decision }: { decision: Decision | null }): Decision | null =>
  decision === null || decision.outcome === 'closed' ? null : decision;
