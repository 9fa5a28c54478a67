import {
  type AttachedFile,
  type Attachment,
  type AttachmentInfo,
  CONTINUE_MESSAGE,
  contentProblem,
  filesProblem,
  type LaunchId,
  type MessageId,
  type QueuedMessage,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { type MessageRow, type OutboxRow, type SessionRecord, textMessage } from '../../store/records.ts';
import type { Tables, Tx } from '../../store/store.ts';
import { endUndo } from './rewind-rules.ts';
import { addEntry, type SessionChange } from './session-change.ts';
import { budgetBefore, endWaits, isStagePaused, pauseTurn } from './spending-limits.ts';
import { closeDenial, dropDeferred } from './tool-calls.ts';

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

/** Returns what everyone sees of a stored file. */
export const describeFile = (fileId: string, { name, mediaType, dataBase64 }: Attachment): AttachedFile => ({
  fileId,
  name,
  mediaType,
  size: Buffer.byteLength(dataBase64, 'base64'),
});

/** Refuses an image or a document that Claude could not read: Claude Code leaves it out, or the API refuses the whole conversation. @throws Rejection `bad_file` */
export function requireReadable(files: readonly Attachment[]): void {
  for (const { name, mediaType, dataBase64 } of files) {
    const problem = contentProblem(name, mediaType, Buffer.from(dataBase64, 'base64'));
    if (problem !== null) throw new Rejection('bad_file', `${problem} Nothing was stored or sent.`);
  }
}

/** How the files of a stage's first message change. */
interface AttachmentChange {
  /** All files afterwards, in order. */
  files: AttachedFile[];
  added: { fileId: string; content: Attachment }[];
  removed: string[];
}

/**
 * Returns the change after which a stage has exactly the files `keep` of those it has, and then the files `more`.
 * @throws Rejection `unknown_file`, `too_many_files`, `bad_file`
 */
export function planAttachments(
  tx: Pick<Tx, 'newWireId'>,
  { id, attachments }: Pick<Stage, 'id' | 'attachments'>,
  { save, more }: { save: readonly string[]; more: readonly Attachment[] },
): AttachmentChange {
  const saved = [...new Set(save)].map((fileId) => {
    const file = attachments.find((one) => one.fileId === fileId);
    if (file === undefined)
      throw new Rejection('unknown_file', `${id} has no file ${fileId}. It may have been removed.`);
    return file;
  });
  requireReadable(more);
  const added = more.map((content) => ({ fileId: tx.newWireId(), content }));
  const described = added.map(({ fileId, content }) => describeFile(fileId, content));
  const problem = filesProblem(saved, described);
  if (problem !== null) throw new Rejection('too_many_files', problem);
  const removed = attachments.filter((file) => !saved.includes(file)).map(({ fileId }) => fileId);
  return { files: [...saved, ...described], added, removed };
}

/** Stores the contents of the files of a stage that is stored already. */
export async function storeAttachments(tx: Tx, stageId: StageId, { added, removed }: AttachmentChange): Promise<void> {
  for (const fileId of removed) await tx.attachments.remove(stageId, fileId);
  for (const { fileId, content } of added) await tx.attachments.insert(stageId, fileId, content);
}

/** Tells all screens to read the stage's comments again. */
export const sendComments = (tx: Tx, stageId: StageId): Promise<void> =>
  tx.emit({ type: 'comments-updated', data: { stageId } });

/** A turn has ended well: the comments that Claude had read by then are answered. */
export async function answerComments(tx: Tx, stageId: StageId): Promise<void> {
  let answered = 0;
  for (const comment of await tx.comments.listUnanswered(stageId)) {
    const message = comment.messageId === null ? null : await tx.outbox.findMessage(stageId, comment.messageId);
    if (message?.state !== 'confirmed') continue;
    await tx.comments.save({ ...comment, answeredAt: tx.now });
    answered += 1;
  }
  if (answered > 0) await sendComments(tx, stageId);
}

/** The message of these comments continues under another id. */
export async function followMessage(tx: Tx, stageId: StageId, from: MessageId, to: MessageId): Promise<void> {
  const comments = await tx.comments.listSentWith(stageId, from);
  for (const comment of comments) await tx.comments.save({ ...comment, messageId: to });
  if (comments.length > 0) await sendComments(tx, stageId);
}

/** The message of these comments will never be sent: they are drafts again. @returns how many */
export async function returnToDrafts(tx: Tx, stageId: StageId, messageId: MessageId): Promise<number> {
  const comments = await tx.comments.listSentWith(stageId, messageId);
  for (const comment of comments)
    await tx.comments.save({ ...comment, sentAt: null, sentBy: null, messageId: null, answeredAt: null });
  if (comments.length > 0) await sendComments(tx, stageId);
  return comments.length;
}

/**
 * Returns the messages of an ended launch that may be missing in the conversation: those of its last two turns, and
 * those that the CLI did not report as read.
 */
export async function unconfirmedMessages(
  read: Pick<Tables, 'outbox'>,
  { lastTurnMessages, turnMessages }: SessionRecord,
  launchId: LaunchId,
): Promise<OutboxRow[]> {
  const begun = await Promise.all([...lastTurnMessages, ...turnMessages].map((id) => read.outbox.find(id)));
  const unread = await read.outbox.listOf(launchId, ['accepted', 'written']);
  return [...begun.filter((row) => row !== null), ...unread.filter(({ kind }) => kind === 'message')];
}

/** The wire ids that were found in the conversation; null if it could not be read. */
export type FoundMessages = ReadonlySet<string> | null;

/** Whether the conversation has a message. If the CLI joined messages into one, it names only the last of them. */
export function isInConversation(
  { wireId }: Pick<OutboxRow, 'wireId'>,
  { joinedMessages }: SessionRecord,
  found: FoundMessages,
): boolean {
  if (found === null) return false;
  return found.has(wireId) || (joinedMessages.includes(wireId) && found.has(joinedMessages.at(-1) ?? wireId));
}
