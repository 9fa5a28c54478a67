import type { Attachment, DraftFile, StageId } from '@callboard/contract';
import type { Tx } from '../store/store.ts';

/** What everyone sees of a file that is kept. */
export const draftFile = (fileId: string, { name, mediaType, dataBase64 }: Attachment): DraftFile => ({
  fileId,
  name,
  mediaType,
  size: Buffer.byteLength(dataBase64, 'base64'),
});

/** Keeps the content, for a message that is not sent yet. */
export async function keepFile(tx: Tx, stageId: StageId, fileId: string, content: Attachment): Promise<void> {
  await tx.draftFiles.insert(stageId, fileId, await tx.clock.stamp(tx.now), content);
}
