import {
  type Attachment,
  type AttachmentInfo,
  CONTINUE_MESSAGE,
  type LaunchId,
  type QueuedMessage,
} from '@callboard/contract';
import { type MessageRow, textMessage } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { budgetBefore, pauseTurn } from './budgets.ts';
import { closeDenial, dropDeferred } from './denials.ts';
import { endUndo } from './going-back.ts';
import { isStagePaused } from './holds.ts';
import { addEntry, type SessionChange } from './session-change.ts';
import { endWaits } from './usage-limits.ts';

/** Returns a row of the queue as everyone sees it. */
export const queuedMessage = (row: MessageRow): QueuedMessage => ({
  stageId: row.stageId,
  messageId: row.wireId,
  text: row.body.text,
  by: row.actor,
  createdAt: row.createdAt,
  position: row.position,
  attachments: row.body.attachments.map(attachmentInfo),
  isCommand: row.body.isCommand,
});

const attachmentInfo = ({ name, mediaType }: Attachment): AttachmentInfo => ({ name, mediaType });

/**
 * Gives the first row of the queue to the session's launch, whose outbox writes it. A held queue gives only an urgent row.
 * Gives nothing while the disk is nearly full, the stage is on hold or a budget is spent, under alarm, or while the conversation is in a terminal.
 */
export async function deliverNext(tx: Tx, change: SessionChange): Promise<void> {
  if (change.record.alarm !== null || change.record.terminal !== null) return;
  const [first] = await tx.outbox.queueOf(change.record.stageId);
  if (first === undefined || (change.record.queueHeld && !first.body.urgent)) return;
  if (change.record.launchId === null || tx.diskPauseReason() !== null) return;
  if (await isStagePaused(tx, change.record.stageId)) return;
  const budget = await budgetBefore(tx, change.record);
  if (budget === null) await deliver(tx, change, first);
  else await pauseTurn(tx, change, first, budget);
}

/** Puts "Continue" ahead of the queue. @param actor null: Callboard */
export async function insertContinue(tx: Tx, change: SessionChange, actor: string | null): Promise<MessageRow> {
  const { stageId } = change.record;
  const [first] = await tx.outbox.queueOf(stageId);
  const position = first === undefined ? (await tx.outbox.lastPosition(stageId)) + 1 : first.position - 1;
  const wireId = tx.newWireId();
  const row = { id: tx.newId(), stageId, launchId: null, wireId, actor, createdAt: tx.now, position };
  await tx.outbox.insert({ ...row, body: textMessage(CONTINUE_MESSAGE) });
  change.queueChanged = true;
  const inserted = (await tx.outbox.queueOf(stageId)).find(({ id }) => id === row.id);
  if (inserted === undefined) throw new Error(`the message of ${stageId} is not in its queue`);
  return inserted;
}

/** Puts a row first in the queue, to go next even if the queue is held. */
export async function makeUrgent(tx: Tx, change: SessionChange, row: MessageRow): Promise<void> {
  const first = (await tx.outbox.queueOf(row.stageId))[0];
  if (first !== undefined && first.id !== row.id) await tx.outbox.setPosition(row.id, first.position - 1);
  await tx.outbox.setBody(row.id, { ...row.body, urgent: true });
  change.queueChanged = true;
}

/** Gives a message to the session's launch, and adds its transcript entry if it was never given before. */
export async function deliver(tx: Tx, change: SessionChange, row: MessageRow): Promise<void> {
  const { launchId, stageId } = change.record;
  if (launchId === null) return; // no process: the row stays in the queue
  // Its flags are used up: if it returns unread, it waits like any other message.
  await tx.outbox.give(row, launchId, { ...row.body, entered: true, urgent: false, awaitsRoom: false });
  change.delivered.push(row.id);
  if (!row.body.entered) {
    addEntry(change, tx.now, {
      kind: 'user',
      parentToolUseId: null,
      text: row.body.text,
      messageId: row.wireId,
      by: row.actor,
      attachments: row.body.attachments.map(attachmentInfo),
    });
  }
  endUndo(change);
  endWaits(change);
  const { check } = change.record;
  // Whoever writes to Claude has looked at what failed: it gets all its attempts again.
  const seen = row.actor === null || check === null ? check : { ...check, failures: 0 };
  change.record = { ...change.record, turnRunning: true, check: seen, spentBudget: null };
  dropDeferred(change, tx.now);
  closeDenial(change); // whoever wrote the message has dealt with it
  change.queueChanged = true;
  await tx.emit({ type: 'message-sent', data: { stageId, messageId: row.wireId, text: row.body.text } });
}

/** Whether the launch has messages that the CLI has not read. */
export async function hasUnreadMessages(tx: Tx, launchId: LaunchId): Promise<boolean> {
  return (await tx.outbox.countUnread(launchId)) > 0;
}
