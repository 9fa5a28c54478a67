import {
  type DraftFile,
  MESSAGE_KEY,
  MessageDraft,
  type MessageId,
  REPLACED_PREFIX,
  type ReplacedMessage,
  type StageId,
} from '@callboard/contract';
import type { Platform } from '../lib/edges.ts';
import type { MessageRow } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { storeAttachment } from './draft-files.ts';
import { saveDraft } from './drafts.ts';

/**
 * Takes a row out of the queue for a later message. Its text and its files are kept among the drafts, under the id
 * under which the message can still be sent.
 */
export async function saveReplaced(tx: Tx, platform: Platform, row: MessageRow): Promise<void> {
  const { stageId, body, position } = row;
  const files: DraftFile[] = [];
  for (const content of body.attachments) files.push(await storeAttachment(tx, stageId, platform.newWireId(), content));
  await tx.outbox.setVoid(row.id, 'replaced by a later message');
  const value: ReplacedMessage = { text: body.text, isCommand: body.isCommand, position, files };
  await saveDraft(tx, { stageId, key: REPLACED_PREFIX + platform.newWireId(), value, writer: null });
}

/**
 * Removes the drafts of a message that is being taken: its text in the message box, or the message as one that was replaced.
 * Another text stays: somebody may be writing it on another device.
 */
export async function removeDraftsOf(tx: Tx, stageId: StageId, messageId: MessageId): Promise<void> {
  for (const { key, value } of await tx.drafts.listOf(stageId)) {
    const isOfBox = key === MESSAGE_KEY && MessageDraft.safeParse(value).data?.messageId === messageId;
    if (isOfBox || key === REPLACED_PREFIX + messageId)
      await saveDraft(tx, { stageId, key, value: null, writer: null });
  }
}
