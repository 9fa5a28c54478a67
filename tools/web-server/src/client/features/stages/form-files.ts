import { type AttachedFile, Attachment, filesProblem } from '@callboard/contract';
import { del, get, set } from 'idb-keyval';
import { useEffect, useRef, useState } from 'react';
import { z } from 'zod';
import { errorText } from '../../lib/api-client.ts';
import { leastSize, notesOn, readFile } from '../../lib/files.ts';

const NONE: readonly AttachedFile[] = [];
const UNCHANGED: StoredFiles = { added: [], removed: [] };
const NOT_SAVED =
  'This browser has no room for these files: they are sent with the form, but lost if you reload the page.';

export type FormFiles = ReturnType<typeof useFormFiles>;

/** What this browser keeps under a key while a form is open. */
interface Opened {
  latest: StoredFiles;
  /** Resolves when `latest` is what was kept before: a change before that would be lost, or lose it. */
  isRead: Promise<void>;
}

/** The files that this browser keeps under a key. `draft` is null until they are read. */
function useStoredFiles(key: string) {
  const [draft, setDraft] = useState<StoredFiles | null>(null);
  const [isRestored, setIsRestored] = useState(false);
  const opened = useRef<Opened>({ latest: UNCHANGED, isRead: Promise.resolve() });

  useEffect(() => {
    let isOpen = true;
    const mine: Opened = { latest: UNCHANGED, isRead: readStoredFiles(key).then(restore) };
    opened.current = mine;
    function restore(stored: StoredFiles | null): void {
      mine.latest = stored ?? UNCHANGED;
      if (!isOpen) return;
      setDraft(mine.latest);
      setIsRestored(stored !== null);
    }
    return () => {
      isOpen = false;
    };
  }, [key]);

  async function latest(): Promise<StoredFiles> {
    const { current } = opened;
    await current.isRead;
    return current.latest;
  }
  /** Returns whether the browser keeps what it is now. */
  async function change(edit: (latest: StoredFiles) => StoredFiles): Promise<boolean> {
    const { current } = opened;
    await current.isRead;
    const next = edit(current.latest);
    current.latest = next;
    setDraft(next);
    const isEmpty = next.added.length + next.removed.length === 0;
    return (await writeStoredFiles(key, isEmpty ? null : next)) || isEmpty;
  }
  /** Returns how to forget what is sent now, once it has arrived. That returns false if something was changed since, which is kept. */
  function sending(): () => boolean {
    const { current } = opened;
    const sent = current.latest;
    return () => {
      const isSame = current.latest === sent;
      const without = <T>(all: readonly T[], some: readonly T[]) => all.filter((one) => !some.includes(one));
      void change(({ added, removed }) => ({
        added: without(added, sent.added),
        removed: without(removed, sent.removed),
      }));
      return isSame;
    };
  }
  return { draft, isRestored, setIsRestored, latest, change, sending };
}

/**
 * The files of a stage form: those that the stage has, without those that were removed here, and those that were added
 * here. As the form's texts, they are kept by this browser until they are sent or discarded.
 *
 * @param id as for `useFormDraft`
 * @param own the files of the stage
 */
export function useFormFiles(id: string, own: readonly AttachedFile[] = NONE) {
  const { draft, isRestored, setIsRestored, ...stored } = useStoredFiles(`callboard-stage-files:${id}`);
  const [problem, setProblem] = useState<string | null>(null);
  const [note, setNote] = useState<string | null>(null);
  const [reading, setReading] = useState(0);

  async function change(edit: (latest: StoredFiles) => StoredFiles): Promise<void> {
    if (!(await stored.change(edit))) setProblem(NOT_SAVED);
  }

  const { added, removed } = draft ?? UNCHANGED;
  const kept = own.filter(({ fileId }) => !removed.includes(fileId));

  async function take(more: File[]): Promise<void> {
    const refused = filesProblem([...kept, ...(await stored.latest()).added], more.map(leastSize));
    setProblem(refused);
    setNote(null);
    if (refused !== null || more.length === 0) return;
    setReading((times) => times + 1);
    const results = await Promise.allSettled(more.map(readFile));
    const read = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const problems = results.flatMap((result) => (result.status === 'rejected' ? [errorText(result.reason)] : []));
    if (problems.length > 0) setProblem(problems.join(' '));
    setNote(notesOn(read));
    setReading((times) => times - 1);
    await change((latest) => ({ ...latest, added: [...latest.added, ...read] }));
  }

  return {
    kept,
    added,
    problem,
    /** What to know about the last files that were added; null if there is nothing. */
    note,
    /** Whether the form opened with files that were not sent. */
    isRestored,
    /** Whether all files are read, so that the form can be sent. */
    areRead: draft !== null && reading === 0,
    add: (more: File[]) => void take(more),
    remove(fileId: string): void {
      setProblem(null);
      const isOwn = own.some((file) => file.fileId === fileId);
      void change((latest) =>
        isOwn
          ? { ...latest, removed: [...latest.removed, fileId] }
          : { ...latest, added: latest.added.filter((file) => file.fileId !== fileId) },
      );
    },
    sending: stored.sending,
    discard(): void {
      setProblem(null);
      setIsRestored(false);
      void change(() => UNCHANGED);
    },
    /** What to send for a new stage. */
    attachments: (): { attachments?: Attachment[] } =>
      added.length === 0 ? {} : { attachments: added.map(({ content }) => content) },
    /** What to send for a stage that has files. */
    changes: (): { files?: string[]; attachments?: Attachment[] } =>
      added.length + removed.length === 0
        ? {}
        : { files: kept.map(({ fileId }) => fileId), attachments: added.map(({ content }) => content) },
  };
}

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
