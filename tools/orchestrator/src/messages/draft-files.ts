import {
  type Attachment,
  DraftFile,
  FILES_KEY,
  filesProblem,
  REPLACED_PREFIX,
  ReplacedMessage,
  type StageId,
} from '@callboard/contract';
import { z } from 'zod';
import { describeFile, requireReadable } from '../domain/attachments.ts';
import { Rejection } from '../lib/errors.ts';
import { requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';
import { saveDraft } from './drafts.ts';

/** The files for the next message of a stage, the same on all devices. */
export interface DraftFiles {
  /**
   * Stores a file. If the stage already has a file with this id, that one stays and is returned.
   * @throws Rejection `unknown_stage`, `too_many_files`, `bad_file`
   */
  add(stageId: StageId, fileId: string, file: Attachment): Promise<DraftFile>;
  /** @throws Rejection `unknown_file` */
  get(stageId: StageId, fileId: string): Promise<Attachment>;
  /** @throws Rejection `unknown_file` */
  remove(stageId: StageId, fileId: string): Promise<DraftFile>;
  /** Deletes files that were added before this instant and never sent. */
  forgetOlder(instant: string): Promise<void>;
}

const unknownFile = () => new Rejection('unknown_file', 'This file is gone: it was removed, or sent with a message.');

export function createDraftFiles({ store }: { store: Store }): DraftFiles {
  return {
    add: (stageId, fileId, content) =>
      store.transact(async (tx) => {
        await requireStage(tx, stageId);
        requireReadable([content]);
        const files = await listFiles(tx, stageId);
        const known = files.find((file) => file.fileId === fileId);
        if (known !== undefined) return known;
        const file = describeFile(fileId, content);
        const problem = filesProblem(files, [file]);
        if (problem !== null) throw new Rejection('too_many_files', problem);
        await storeContent(tx, stageId, fileId, content);
        await saveList(tx, stageId, [...files, file]);
        return file;
      }),
    async get(stageId, fileId) {
      const file = await store.read.draftFiles.find(stageId, fileId);
      if (file === null) throw unknownFile();
      return file;
    },
    remove: (stageId, fileId) =>
      store.transact(async (tx) => {
        const file = (await listFiles(tx, stageId)).find((other) => other.fileId === fileId);
        if (file === undefined) throw unknownFile();
        await forget(tx, stageId, [fileId]);
        return file;
      }),
    forgetOlder: (instant) =>
      store.transact(async (tx) => {
        for (const { stageId, fileIds } of await tx.draftFiles.addedBefore(instant)) await forget(tx, stageId, fileIds);
      }),
  };
}

/**
 * Returns the contents of these files and removes them from the drafts: from now on they belong to a message.
 * @throws Rejection `unknown_file`
 */
export async function takeFiles(tx: Tx, stageId: StageId, fileIds: readonly string[]): Promise<Attachment[]> {
  if (fileIds.length === 0) return [];
  const contents: Attachment[] = [];
  for (const fileId of fileIds) {
    const file = await tx.draftFiles.find(stageId, fileId);
    if (file === null) throw unknownFile();
    contents.push(file);
  }
  await forget(tx, stageId, fileIds);
  return contents;
}

/** Stores the attachment of a message that has left the queue. It is not in the list for the next message. */
export async function storeAttachment(
  tx: Tx,
  stageId: StageId,
  fileId: string,
  content: Attachment,
): Promise<DraftFile> {
  await storeContent(tx, stageId, fileId, content);
  return describeFile(fileId, content);
}

async function storeContent(tx: Tx, stageId: StageId, fileId: string, content: Attachment): Promise<void> {
  await tx.draftFiles.insert(stageId, fileId, await tx.clock.stamp(tx.now), content);
}

async function forget(tx: Tx, stageId: StageId, fileIds: readonly string[]): Promise<void> {
  for (const fileId of fileIds) await tx.draftFiles.remove(stageId, fileId);
  const files = await listFiles(tx, stageId);
  const left = files.filter((file) => !fileIds.includes(file.fileId));
  if (left.length < files.length) await saveList(tx, stageId, left);
  await forgetInReplaced(tx, stageId, fileIds);
}

/** Drafts of replaced messages no longer name files that are gone. */
async function forgetInReplaced(tx: Tx, stageId: StageId, fileIds: readonly string[]): Promise<void> {
  for (const { key, value } of await tx.drafts.listOf(stageId)) {
    const replaced = key.startsWith(REPLACED_PREFIX) ? ReplacedMessage.safeParse(value) : null;
    if (replaced?.success !== true) continue;
    const { files } = replaced.data;
    const left = files.filter((file) => !fileIds.includes(file.fileId));
    if (left.length === files.length) continue;
    await saveDraft(tx, { stageId, key, value: { ...replaced.data, files: left }, writer: null });
  }
}

async function listFiles(tx: Tx, stageId: StageId): Promise<DraftFile[]> {
  const draft = (await tx.drafts.listOf(stageId)).find(({ key }) => key === FILES_KEY);
  return z.array(DraftFile).parse(draft?.value ?? []);
}

/** The list is a draft too, so every screen is told about it as about any other draft. */
async function saveList(tx: Tx, stageId: StageId, files: readonly DraftFile[]): Promise<void> {
  await saveDraft(tx, { stageId, key: FILES_KEY, value: files.length === 0 ? null : files, writer: null });
}
