import { Attachment } from '@callboard/contract';
import { del, get, set } from 'idb-keyval';
import { z } from 'zod';

/** The files of an unsent stage form. Texts are kept in `browser-storage`, which is too small for files. */
export const StoredFiles = z.object({
  added: z.array(z.object({ fileId: z.string(), size: z.number(), content: Attachment })),
  /** Ids of the stage's own files that are to go. */
  removed: z.array(z.string()),
});
export type StoredFiles = z.infer<typeof StoredFiles>;

/** Returns what this browser keeps under the key; null if it keeps nothing, or cannot. */
export async function readStoredFiles(key: string): Promise<StoredFiles | null> {
  try {
    return StoredFiles.safeParse(await get(key)).data ?? null;
  } catch {
    return null;
  }
}

/** Keeps files, or removes them if they are null. Returns whether the browser keeps them: it may have no room, or no store. */
export async function writeStoredFiles(key: string, files: StoredFiles | null): Promise<boolean> {
  try {
    await (files === null ? del(key) : set(key, files));
    return true;
  } catch {
    return false;
  }
}
