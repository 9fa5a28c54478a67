import type { ClaudeState } from '@callboard/contract';
import { claudeLabel } from '../lib/claude-words.ts';
import { count } from '../lib/format.ts';
import type { StreamState } from '../stream/stream-store.ts';

/** So many titles are named; the rest is a number. */
const NAMED = 4;

/** How many stages need a person: "2 stages need you". */
export const callCount = (calls: number): string =>
  calls === 0 ? 'No stage needs you' : `${count(calls, 'stage needs', 'stages need')} you`;

/** Who needs a person, in a line: "2 stages need you: Login form, Refunds". */
export function callText(titles: readonly string[]): string {
  if (titles.length === 0) return callCount(0);
  const rest = titles.length - NAMED;
  return `${callCount(titles.length)}: ${titles.slice(0, NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** What is wrong, in a word: the connection, the orchestrator, Claude Code. Null while all is well. */
export function healthText(
  { connection, orchestrator }: Pick<StreamState, 'connection' | 'orchestrator'>,
  claude: Pick<ClaudeState, 'state'>,
): string | null {
  if (connection === 'lost') return 'No connection';
  return orchestrator === 'unreachable' ? 'Orchestrator offline' : claudeLabel(claude);
}

interface AbsenceText {
  says: string;
  /** What it means and what to do. */
  so: string;
  /** The same where there is little room. */
  inShort: string;
}

const ABSENCES = {
  connection: {
    says: 'Connection lost.',
    so: 'Reconnecting... If you stopped Callboard, start it again.',
    inShort: 'Reconnecting...',
  },
  orchestrator: {
    says: 'The orchestrator does not answer.',
    so: 'Reconnecting... Running Claude processes continue; answers are sent once it is back, while this page stays open.',
    inShort: 'Claude processes continue.',
  },
  proxy: {
    says: 'A proxy holds up live updates.',
    so: "This page asks for news instead: requests arrive and can be answered, and Claude's text appears once it is complete. Turn off buffering in the proxy.",
    inShort: 'Asking for news instead.',
  },
} as const satisfies Record<string, AbsenceText>;

/** What the bar says while a part of Callboard cannot be reached, or not as it should; null while all is well. */
export function absenceText({
  connection,
  orchestrator,
  isStalled,
}: Pick<StreamState, 'connection' | 'orchestrator' | 'isStalled'>): AbsenceText | null {
  if (connection === 'lost') return ABSENCES.connection;
  if (orchestrator === 'unreachable') return ABSENCES.orchestrator;
  return isStalled ? ABSENCES.proxy : null;
}
