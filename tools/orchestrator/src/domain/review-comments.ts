import type { MessageId, StageId } from '@callboard/contract';
import type { Tx } from '../store/store.ts';

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
