import type { NewTranscriptEntry, SessionTerminal } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { SessionRecord } from '../store/records.ts';
import { endUndo } from './going-back.ts';
import { addEntry, addNotice, type SessionChange } from './session-change.ts';
import { endWaits } from './usage-limits.ts';

/** Ends what was said elsewhere: it belongs to no turn of Callboard's. */
export const SAID_ELSEWHERE: NewTranscriptEntry = {
  kind: 'turn-end',
  parentToolUseId: null,
  outcome: 'succeeded',
  message: null,
  durationMs: null,
  costUsd: null,
};

/** What was said in a terminal, as far as the conversation's record tells. */
export interface SaidInTerminal {
  /** Oldest first. */
  entries: readonly { at: string; entry: NewTranscriptEntry }[];
  /** Whether some of it is left out, because it is long. */
  isCut: boolean;
}

/**
 * Leaves the conversation to a terminal: from now on nothing starts a process for it, and messages wait. A process that runs is
 * the caller's to end.
 */
export function leaveToTerminal(change: SessionChange, terminal: SessionTerminal): void {
  change.record = { ...change.record, terminal };
  endUndo(change);
  endWaits(change);
  const text = `${terminal.by} continues this conversation in a terminal. Callboard starts no process for it until it is taken back.`;
  addNotice(change, terminal.since, { level: 'info', code: 'in-terminal', text });
}

/**
 * Takes the conversation back, with what was said in the terminal. The caller has made sure that no process writes it.
 * @param said null if the record could not be read
 */
export function withdraw(change: SessionChange, at: string, said: SaidInTerminal | null): void {
  // The terminal has counted on: the next process is asked for its count, and what the terminal spent is not the stage's.
  change.record = { ...change.record, terminal: null, costCounted: null, tokensCounted: null };
  const entries = said?.entries ?? [];
  for (const one of entries) addEntry(change, one.at, one.entry);
  if (entries.length > 0) addEntry(change, at, SAID_ELSEWHERE);
  addNotice(change, at, { level: 'info', code: 'taken-back', text: rewoundText(said) });
}

function rewoundText(said: SaidInTerminal | null): string {
  const done = 'Taken back from the terminal.';
  if (said === null) return `${done} What was said there could not be read, so it is not shown here; Claude knows it.`;
  if (said.entries.length === 0) return `${done} Nothing was said there in this conversation.`;
  const cut = said.isCut ? ' Its beginning is not shown; Claude knows it.' : '';
  return `${done} What was said there is shown above.${cut} Its cost is not counted here.`;
}

/** Why the process of such a session is ended. */
export const endedForTerminal = ({ by }: SessionTerminal): string => `Ended to continue in a terminal, by ${by}.`;

/** @throws Rejection `in_terminal` */
export function requireNotInTerminal(session: Pick<SessionRecord, 'terminal' | 'stageId'> | null): void {
  if (session === null || session.terminal === null) return;
  const message = `${session.terminal.by} continues ${session.stageId} in a terminal. Exit Claude Code there and take the stage back first.`;
  throw new Rejection('in_terminal', message);
}
