import { type Attachment, DraftFile, FILES_KEY, filesProblem, type StageId } from '@callboard/contract';
import { z } from 'zod';
import { Rejection } from '../lib/errors.ts';
import { requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';
import { keepDraft } from './keep-draft.ts';
import { draftFile, keepFile } from './kept-file.ts';
import { withoutFiles } from './replaced-messages.ts';

/** The files that are to go with the next message of a stage, the same on all devices. */
export interface DraftFiles {
  /** Keeps it; one that is kept already under this id stays. @throws Rejection `unknown_stage`, `too_many_files` */
  add(stageId: StageId, fileId: string, file: Attachment): Promise<DraftFile>;
  /** @throws Rejection `unknown_file` */
  get(stageId: StageId, fileId: string): Promise<Attachment>;
  /** @throws Rejection `unknown_file` */
  remove(stageId: StageId, fileId: string): Promise<DraftFile>;
  /** Forgets files that were added before this instant and never sent. */
  forgetOlder(instant: string): Promise<void>;
}

const unknownFile = () =>
  new Rejection('unknown_file', 'This file is not kept any more: it was taken away, or sent with a message.');

export function createDraftFiles({ store }: { store: Store }): DraftFiles {
  return {
    add: (stageId, fileId, content) =>
      store.transact(async (tx) => {
        await requireStage(tx, stageId);
        const kept = await keptFiles(tx, stageId);
        const known = kept.find((file) => file.fileId === fileId);
        if (known !== undefined) return known;
        const file = draftFile(fileId, content);
        const problem = filesProblem(kept, [file]);
        if (problem !== null) throw new Rejection('too_many_files', problem);
        await keepFile(tx, stageId, fileId, content);
        await setKept(tx, stageId, [...kept, file]);
        return file;
      }),
    async get(stageId, fileId) {
      const file = await store.read.draftFiles.find(stageId, fileId);
      if (file === null) throw unknownFile();
      return file;
    },
    remove: (stageId, fileId) =>
      store.transact(async (tx) => {
        const file = (await keptFiles(tx, stageId)).find((other) => other.fileId === fileId);
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

/** The contents of these files, which from now on belong to a message. @throws Rejection `unknown_file` */
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

async function forget(tx: Tx, stageId: StageId, fileIds: readonly string[]): Promise<void> {
  for (const fileId of fileIds) await tx.draftFiles.remove(stageId, fileId);
  const kept = await keptFiles(tx, stageId);
  const left = kept.filter((file) => !fileIds.includes(file.fileId));
  if (left.length < kept.length) await setKept(tx, stageId, left);
  await withoutFiles(tx, stageId, fileIds);
}

async function keptFiles(tx: Tx, stageId: StageId): Promise<DraftFile[]> {
  const draft = (await tx.drafts.listOf(stageId)).find(({ key }) => key === FILES_KEY);
  return z.array(DraftFile).parse(draft?.value ?? []);
}

/** The list is a draft of its own, so that every screen hears of it as of any other draft. */
async function setKept(tx: Tx, stageId: StageId, files: readonly DraftFile[]): Promise<void> {
  await keepDraft(tx, { stageId, key: FILES_KEY, value: files.length === 0 ? null : files, writer: null });
}
