import {
  AttachedFile,
  type Attachment,
  type Draft,
  FILES_KEY,
  filesProblem,
  MESSAGE_KEY,
  MessageDraft,
  REPLACED_PREFIX,
  ReplacedMessage,
  type StageId,
} from '@callboard/contract';
import { z } from 'zod';
import { describeFile, requireReadable } from '../../core/session/message-delivery.ts';
import { Rejection } from '../../lib/errors.ts';
import { requireStage, type Store, type Tx } from '../../store/store.ts';

/** Texts that people began to write and have not sent, the same on all their devices. The last writer wins. */
export interface Drafts {
  /** @throws Rejection `unknown_stage` */
  list(stageId: StageId): Promise<Draft[]>;
  /**
   * Saves a draft, or removes it if its value is null. One whose message was sent is not saved: a save may arrive after its message,
   * and a page that was left before the reply has the text still.
   * @returns the draft as it is now, with the text of that message
   * @throws Rejection `unknown_stage`; `bad_request` for the list of files, which follows from the files themselves
   */
  put(draft: Omit<Draft, 'updatedAt'>): Promise<{ draft: Draft; sent?: string }>;
}

export function createDrafts({ store }: { store: Store }): Drafts {
  return {
    async list(stageId) {
      await requireStage(store.read, stageId);
      return store.read.drafts.listOf(stageId);
    },
    put: (wanted) =>
      store.transact(async (tx) => {
        await requireStage(tx, wanted.stageId);
        if (wanted.key === FILES_KEY) {
          throw new Rejection('bad_request', 'The server keeps the list of files. Add and remove files instead.');
        }
        const sent = await sentText(tx, wanted);
        if (sent === null) return { draft: await saveDraft(tx, wanted) };
        return { draft: { ...wanted, value: null, updatedAt: tx.now }, sent };
      }),
  };
}

/** Returns the text of the message that a draft was sent as; null if it was not sent. */
async function sentText(tx: Tx, { stageId, key, value }: Pick<Draft, 'stageId' | 'key' | 'value'>) {
  const draft = key === MESSAGE_KEY ? MessageDraft.safeParse(value).data : undefined;
  const message = draft && (await tx.outbox.findMessage(stageId, draft.messageId));
  return message == null ? null : (message.body.sentAs ?? message.body.text);
}

/** Saves a draft, or removes it if its value is null, and tells all screens. */
export async function saveDraft(tx: Tx, wanted: Omit<Draft, 'updatedAt'>): Promise<Draft> {
  const draft = { ...wanted, updatedAt: tx.now };
  if (draft.value === null) await tx.drafts.remove(draft.stageId, draft.key);
  else await tx.drafts.save(draft);
  await tx.emit({ type: 'draft-updated', data: draft });
  return draft;
}

/** The files for the next message of a stage, the same on all devices. */
export interface DraftFiles {
  /**
   * Stores a file. If the stage already has a file with this id, that one stays and is returned.
   * @throws Rejection `unknown_stage`, `too_many_files`, `bad_file`
   */
  add(stageId: StageId, fileId: string, file: Attachment): Promise<AttachedFile>;
  /** @throws Rejection `unknown_file` */
  get(stageId: StageId, fileId: string): Promise<Attachment>;
  /** @throws Rejection `unknown_file` */
  remove(stageId: StageId, fileId: string): Promise<AttachedFile>;
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
): Promise<AttachedFile> {
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

async function listFiles(tx: Tx, stageId: StageId): Promise<AttachedFile[]> {
  const draft = (await tx.drafts.listOf(stageId)).find(({ key }) => key === FILES_KEY);
  return z.array(AttachedFile).parse(draft?.value ?? []);
}

/** The list is a draft too, so every screen is told about it as about any other draft. */
async function saveList(tx: Tx, stageId: StageId, files: readonly AttachedFile[]): Promise<void> {
  await saveDraft(tx, { stageId, key: FILES_KEY, value: files.length === 0 ? null : files, writer: null });
}
