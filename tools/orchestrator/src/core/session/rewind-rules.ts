import type { NewTranscriptEntry, RewindRecord, SessionTerminal, Stage } from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import type { ConversationState, Rewinding, SessionRecord } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import { addEntry, addNotice, type SessionChange } from './session-change.ts';
import { endWaits } from './spending-limits.ts';

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

/** How a session changes when a person goes back to an earlier message (docs/decisions/rewind.md). */

/** @throws Rejection `cannot_go_back` while the files of the stage are set back */
export function requireNotRewinding(session: SessionRecord | null): void {
  if (session?.goingBack == null) return;
  const message = `The files of ${session.stageId} are being restored. Try again in a moment.`;
  throw new Rejection('cannot_go_back', message);
}

/** Returns what of the session goes back with its conversation. */
const conversationOf = (record: SessionRecord): ConversationState => ({
  sessionId: record.sessionId,
  forkOf: record.forkOf,
  costCounted: record.costCounted,
  tokensCounted: record.tokensCounted,
  phaseIndex: record.phaseIndex,
  atGate: record.atGate,
  check: record.check,
  turnToFollow: record.turnToFollow,
  todos: record.todos,
  contextUsage: record.contextUsage,
  turnMessages: record.turnMessages,
  lastTurn: record.lastTurn,
  openDenial: record.openDenial,
  queueHeld: record.queueHeld,
});

/** The session of a stage has a launch only between its beginning and its end. */
export const begin = (change: SessionChange, goingBack: Rewinding): void => {
  change.record = { ...change.record, goingBack, isGoingBack: true };
};

/** Forgets what was begun: nothing has changed. */
export const abandon = (change: SessionChange): void => {
  change.record = { ...change.record, goingBack: null, isGoingBack: false };
};

/** Stores the result of what was begun, once the files are set. */
export async function finish(tx: Tx, change: SessionChange, rewinding: Rewinding): Promise<void> {
  const { kind, entry, files, conversation, by } = rewinding;
  const { record } = change;
  abandon(change);
  endWaits(change);
  if (kind === 'undo') {
    const goneBack = record.goneBack.filter(({ id }) => id !== entry.id);
    change.record = { ...change.record, ...conversation, goneBack, undo: null, changesCountedFor: null };
    const text = `${by} undid going back: ${whatOf(entry)} as before.${stayed(rewinding)}`;
    addNotice(change, tx.now, { level: 'info', code: 'going-back-undone', text });
  } else {
    const undo = { files: files?.kept ?? null, conversation: conversation === null ? null : conversationOf(record) };
    const lastTurn = { outcome: 'succeeded', at: tx.now, message: null, code: null } as const;
    const goneBack = [...record.goneBack.map((one) => ({ ...one, canUndo: false })), entry];
    change.record = { ...change.record, ...conversation, goneBack, undo, lastTurn };
    const text = `${by} went back to before an earlier message: ${whatOf(entry)} restored.${stayed(rewinding)}`;
    addNotice(change, tx.now, { level: 'info', code: 'gone-back', text });
  }
  if (files === null) return;
  const { transcriptLength: place, sessionId: conversationId, phaseIndex } = change.record;
  const mark = { at: tx.now, tree: files.target, commit: files.target, place, conversationId, phaseIndex };
  await tx.turnMarks.save(record.stageId, mark);
}

/** How many files that stayed are named. */
const NAMED = 10;

function stayed({ blocked }: Rewinding): string {
  if (blocked.length === 0) return '';
  const more = blocked.length > NAMED ? ` and ${blocked.length - NAMED} more` : '';
  return ` These stayed as they are, because they could not be restored: ${blocked.slice(0, NAMED).join(', ')}${more}.`;
}

const whatOf = ({ files, conversation }: RewindRecord): string =>
  files && conversation ? 'files and conversation are' : files ? 'the files are' : 'the conversation is';

/** The next message ends the time in which the newest going back can be undone. */
export function endUndo(change: SessionChange): void {
  if (change.record.undo === null) return;
  const goneBack = change.record.goneBack.map((one) => ({ ...one, canUndo: false }));
  change.record = { ...change.record, undo: null, goneBack };
}

/** Says in the transcript of a forked stage where it begins; does nothing for any other. */
export function noteFork(change: SessionChange, at: string, { fork }: Stage): void {
  if (fork === null) return;
  const { stageId, title, messageId } = fork;
  const moment = messageId === null ? '' : ', before one of its messages';
  const text = `Continues from ${stageId} (${title})${moment}, with a copy of that conversation and the files as they were then. ${stageId} stays as it is.`;
  addNotice(change, at, { level: 'info', code: 'forked', text });
}
