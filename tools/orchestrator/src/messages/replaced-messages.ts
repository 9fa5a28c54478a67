import { type DraftFile, type MessageId, REPLACED_PREFIX, ReplacedMessage, type StageId } from '@callboard/contract';
import type { Edges } from '../lib/edges.ts';
import type { MessageRow } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { keepDraft } from './keep-draft.ts';
import { draftFile, keepFile } from './kept-file.ts';

/**
 * Takes a row out of the queue for a later message. What it says is kept among the drafts, its files with it, under the
 * id under which it may be sent after all.
 */
export async function putAside(tx: Tx, edges: Edges, row: MessageRow): Promise<void> {
  const { stageId, body, position } = row;
  const files: DraftFile[] = [];
  for (const content of body.attachments) {
    const file = draftFile(edges.newWireId(), content);
    await keepFile(tx, stageId, file.fileId, content);
    files.push(file);
  }
  await tx.outbox.setVoid(row.id, 'replaced by a later message');
  const value: ReplacedMessage = { text: body.text, isCommand: body.isCommand, position, files };
  await keep(tx, stageId, REPLACED_PREFIX + edges.newWireId(), value);
}

/** A message that is sent is kept aside no longer, if it was. */
export async function takeBack(tx: Tx, stageId: StageId, messageId: MessageId): Promise<void> {
  const key = REPLACED_PREFIX + messageId;
  const drafts = await tx.drafts.listOf(stageId);
  if (drafts.some((draft) => draft.key === key)) await keep(tx, stageId, key, null);
}

/** These files are gone: what was replaced does not name them any more. */
export async function withoutFiles(tx: Tx, stageId: StageId, fileIds: readonly string[]): Promise<void> {
  for (const { key, value } of await tx.drafts.listOf(stageId)) {
    const replaced = key.startsWith(REPLACED_PREFIX) ? ReplacedMessage.safeParse(value) : null;
    if (replaced?.success !== true) continue;
    const { files } = replaced.data;
    const left = files.filter((file) => !fileIds.includes(file.fileId));
    if (left.length < files.length) await keep(tx, stageId, key, { ...replaced.data, files: left });
  }
}

const keep = (tx: Tx, stageId: StageId, key: string, value: ReplacedMessage | null) =>
  keepDraft(tx, { stageId, key, value, writer: null });
