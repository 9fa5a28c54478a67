import {
  type AttachedFile,
  type Attachment,
  contentProblem,
  filesProblem,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Tx } from '../store/store.ts';

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
