import { type AttachedFile, type Attachment, filesProblem } from '@callboard/contract';
import { useEffect, useRef, useState } from 'react';
import { errorText } from '../../../lib/api-client.ts';
import { readFile } from '../../../lib/read-file.ts';
import { readStoredFiles, type StoredFiles, writeStoredFiles } from '../../../lib/stored-files.ts';

const NONE: readonly AttachedFile[] = [];
const UNCHANGED: StoredFiles = { added: [], removed: [] };
const NOT_KEPT =
  'This browser has no room for these files: they are sent with the form, but lost if you reload the page.';

export type FormFiles = ReturnType<typeof useFormFiles>;

/**
 * The files of a stage form: those that the stage has, without those that were removed here, and those that were added
 * here. As the form's texts, they are kept by this browser until they are sent or discarded.
 *
 * @param id as for `useFormDraft`
 * @param own the files of the stage
 */
export function useFormFiles(id: string, own: readonly AttachedFile[] = NONE) {
  const key = `callboard-stage-files:${id}`;
  const [draft, setDraft] = useState<StoredFiles | null>(null);
  const [isRestored, setIsRestored] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [reading, setReading] = useState(0);
  const latest = useRef(UNCHANGED);

  useEffect(() => {
    let isOpen = true;
    void readStoredFiles(key).then((stored) => {
      if (!isOpen) return;
      latest.current = stored ?? UNCHANGED;
      setDraft(latest.current);
      setIsRestored(stored !== null);
    });
    return () => {
      isOpen = false;
    };
  }, [key]);

  async function change(next: StoredFiles): Promise<void> {
    latest.current = next;
    setDraft(next);
    const isEmpty = next.added.length + next.removed.length === 0;
    if (!(await writeStoredFiles(key, isEmpty ? null : next)) && !isEmpty) setProblem(NOT_KEPT);
  }

  const { added, removed } = draft ?? UNCHANGED;
  const kept = own.filter(({ fileId }) => !removed.includes(fileId));

  async function take(more: File[]): Promise<void> {
    const refused = filesProblem([...kept, ...latest.current.added], more);
    setProblem(refused);
    if (refused !== null || more.length === 0) return;
    setReading((times) => times + 1);
    const results = await Promise.allSettled(more.map(readFile));
    const read = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const problems = results.flatMap((result) => (result.status === 'rejected' ? [errorText(result.reason)] : []));
    if (problems.length > 0) setProblem(problems.join(' '));
    setReading((times) => times - 1);
    await change({ ...latest.current, added: [...latest.current.added, ...read] });
  }

  return {
    kept,
    added,
    problem,
    /** Whether the form opened with files that were not sent. */
    isRestored,
    /** Whether all files are read, so that the form can be sent. */
    areRead: draft !== null && reading === 0,
    add: (more: File[]) => void take(more),
    remove(fileId: string): void {
      setProblem(null);
      const isOwn = own.some((file) => file.fileId === fileId);
      const { current } = latest;
      void change(
        isOwn
          ? { ...current, removed: [...current.removed, fileId] }
          : { ...current, added: current.added.filter((file) => file.fileId !== fileId) },
      );
    },
    discard(): void {
      setProblem(null);
      setIsRestored(false);
      void change(UNCHANGED);
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
