import { isActive, type LaunchId, type StageId } from '@callboard/contract';
import type { MessageRow, OutboxRow, SessionRecord } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { changeSession } from './change-session.ts';
import { closeRequest, requestOf, setDelivery } from './requests.ts';
import { addEntry, type SessionChange } from './session-change.ts';
import { loseAnswer } from './unconfirmed-answers.ts';
import { type FoundMessages, isInConversation } from './unconfirmed-messages.ts';

/** Why a launch ended. */
export type LaunchEnd =
  /** A person, or Callboard for one, ended it. */
  | { kind: 'stopped'; reason: string }
  /** It ended by itself, or something killed it. */
  | { kind: 'died'; reason: string; wasWatched: boolean }
  /** It never came up. `isBegunAgain`: nothing had run, and the caller begins another one in the same transaction. */
  | { kind: 'not-started'; reason: string; isBegunAgain?: true };

/**
 * Settles everything that hung on a process that is gone: its open requests are closed, its messages that were not
 * read go back to the queue (under their old ids, since the CLI knows what it has read, also after a resume), answers
 * it did not confirm are marked as what they are. Nothing is written into another process by itself.
 * @param inConversation which of `unconfirmedMessages` were found in the conversation: those are not given to Claude again
 */
export async function endLaunch(
  tx: Tx,
  stageId: StageId,
  launchId: LaunchId,
  end: LaunchEnd,
  inConversation: FoundMessages = null,
): Promise<void> {
  await tx.launches.setEnded(launchId, tx.now, end.reason);
  await changeSession(tx, stageId, async (change) => {
    if (change.record.launchId !== launchId) return; // a later launch has taken over
    for (const request of await tx.requests.listOpenOf(stageId)) await closeRequest(tx, change, request, end.reason);
    const isLacking = (ids: readonly string[]) => notInConversation(tx, change.record, ids, inConversation);
    const lacking = await isLacking(change.record.turnMessages);
    // A turn that a person ended is not begun again.
    const givenUp = end.kind === 'stopped' ? lacking : await sentBeforeAnInterrupt(tx, launchId, lacking);
    for (const row of await tx.outbox.listOf(launchId, ['accepted', 'written']))
      await settleRow(tx, change, row, end, inConversation);
    const turnMessages = lacking.filter((row) => !givenUp.includes(row)).map(({ id }) => id);
    const forgotten = end.kind === 'died' ? await isLacking(change.record.lastTurnMessages) : [];
    change.record = { ...change.record, turnMessages, lastTurnMessages: [], joinedMessages: [] };
    endSession(tx, change, end);
    if (inConversation === null) return; // nothing is known then, so nothing can be said
    const unknown = givenUp.filter(isWrittenDown);
    if (unknown.length > 0) addUnknown(tx, change, unknown);
    if (forgotten.some(isWrittenDown)) addForgotten(tx, change);
  });
}

/** What a command does is not written down as a message. */
const isWrittenDown = (row: OutboxRow): row is MessageRow => row.body.kind === 'message' && !row.body.isCommand;

/** Those that were in the process when somebody asked it to end its turn, whether it came to that or not. */
async function sentBeforeAnInterrupt(tx: Tx, launchId: LaunchId, rows: OutboxRow[]): Promise<OutboxRow[]> {
  const since = rows.map(({ writtenAt, createdAt }) => writtenAt ?? createdAt).toSorted()[0];
  if (since === undefined) return [];
  const controls = await tx.outbox.controlsSince(launchId, since);
  const [newest] = controls.filter(({ body }) => body.kind === 'control' && body.request.subtype === 'interrupt');
  return newest === undefined ? [] : rows.filter((row) => (row.writtenAt ?? row.createdAt) <= newest.createdAt);
}

async function notInConversation(
  tx: Tx,
  record: SessionRecord,
  ids: readonly string[],
  inConversation: FoundMessages,
): Promise<OutboxRow[]> {
  const rows = await Promise.all(ids.map((id) => tx.outbox.find(id)));
  return rows.filter((row) => row !== null).filter((row) => !isInConversation(row, record, inConversation));
}

/** How much of a message is quoted. */
const QUOTED = 200;

function addUnknown(tx: Tx, change: SessionChange, rows: readonly MessageRow[]): void {
  const quoted = rows.map(({ body: { text } }) => `"${text.length > QUOTED ? `${text.slice(0, QUOTED)}...` : text}"`);
  const [which, it] = rows.length === 1 ? ['this message', 'it'] : ['these messages', 'them'];
  const text = `Claude does not know of ${which}: ${quoted.join(', ')}. Its process ended before it had saved ${it}, and the turn was ended on request, so Callboard does not send ${it} again. Whatever was done by then stands. Send ${it} again if you still want that.`;
  addEntry(change, tx.now, { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'message-unknown', text });
}

/** It is not told again: what came of it stands. */
function addForgotten(tx: Tx, change: SessionChange): void {
  const text =
    'Claude Code had ended before it wrote down its last turn. What that turn did stands, but Claude will not know of it when the session is resumed: tell it what it needs to know.';
  addEntry(change, tx.now, { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'turn-forgotten', text });
}

async function settleRow(
  tx: Tx,
  change: SessionChange,
  row: OutboxRow,
  end: LaunchEnd,
  inConversation: FoundMessages,
): Promise<void> {
  switch (row.kind) {
    case 'message':
      if (isInConversation(row, change.record, inConversation)) return tx.outbox.setConfirmed(row.id, tx.now);
      await tx.outbox.assign(row.id, null);
      change.queueChanged = true;
      return;
    case 'control':
      await tx.outbox.setVoid(row.id, end.reason);
      return;
    case 'answer': {
      await tx.outbox.setVoid(row.id, end.reason);
      // While nobody watched it may have been written without having been marked.
      const isUnwritten = row.state === 'accepted' && (end.kind !== 'died' || end.wasWatched);
      if (!isUnwritten)
        return loseAnswer(tx, row, {
          ended: 'process',
          writtenAt: row.writtenAt,
          endedAt: tx.now,
          endReason: end.reason,
        });
      const stored = await requestOf(tx, row);
      if (stored !== null) await setDelivery(tx, stored, 'not-applied');
      return;
    }
    default:
      return row.kind satisfies never;
  }
}

function endSession(tx: Tx, change: SessionChange, end: LaunchEnd): void {
  const { record } = change;
  const wasActive = isActive(change.before.state);
  const gone = {
    ...record,
    launchId: null,
    turnRunning: false,
    turnBegun: false,
    backgroundTasks: [],
    mcpServers: [],
    agents: {},
    taskStarts: {},
    blocks: {},
    lastAction: null,
    stalledSince: null,
    costCounted: end.kind === 'died' ? null : record.costCounted,
  };
  if (end.kind === 'not-started' && end.isBegunAgain) {
    change.record = { ...gone, launchState: 'ended' };
    addNotice('info', 'begun-again', end.reason);
    return;
  }
  if (end.kind === 'not-started') {
    change.record = {
      ...gone,
      launchState: 'failed',
      lastTurn: { outcome: 'failed', at: tx.now, message: end.reason },
      queueHeld: true,
    };
    addNotice('error', 'launch-failed', end.reason);
    return;
  }
  change.record = { ...gone, launchState: 'ended' };
  if (wasActive) {
    change.record.lastTurn = { outcome: 'interrupted', at: tx.now, message: end.reason };
    change.record.queueHeld = true;
  }
  if (wasActive || end.kind === 'died')
    addNotice(end.kind === 'died' ? 'warning' : 'info', 'process-ended', end.reason);

  function addNotice(level: 'info' | 'warning' | 'error', code: string, text: string): void {
    addEntry(change, tx.now, { kind: 'notice', parentToolUseId: null, level, code, text });
  }
}
