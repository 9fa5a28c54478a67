import { type Attachment, DraftFile, FILES_KEY, filesProblem, type StageId } from '@callboard/contract';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { z } from 'zod';
import { draftOf, draftsQuery } from '../../../data/server-drafts.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client, errorText } from '../../../lib/api-client.ts';
import { leastSize, notesOn, type ReadFile, readFile } from '../../../lib/read-file.ts';
import { UPLOAD_MS, untilDelivered } from '../../../lib/until-delivered.ts';
import { useUnsent } from '../model/unsent-store.ts';

const NONE: readonly ReadFile[] = [];

/** A file's content, for its thumbnail. */
export const draftFileQuery = (stageId: StageId, fileId: string) =>
  queryOptions({
    queryKey: ['draft-file', stageId, fileId],
    queryFn: async ({ signal }): Promise<Attachment> =>
      (await client.command('get_draft_file', { stageId, fileId }, { signal })).file,
  });

/**
 * The files of the stage's next message: those `kept` by the server, the same on all screens, and those being uploaded.
 * `problem` says why the last ones were not accepted.
 */
export function useFiles(stageId: StageId) {
  const cache = useQueryClient();
  const { data: draft } = useQuery({ ...draftsQuery(stageId), select: draftOf(FILES_KEY) });
  const kept = z
    .array(DraftFile)
    .catch([])
    .parse(draft?.value ?? []);
  const uploading = useUnsent(({ files }) => files[stageId] ?? NONE);
  const [problem, setProblem] = useState<string | null>(null);
  const [note, setNote] = useState<string | null>(null);
  /** How many batches of added files are not fully read and uploaded yet. */
  const [adding, setAdding] = useState(0);

  async function save(file: ReadFile): Promise<ReadFile> {
    const { fileId, content } = file;
    const { addFile, removeFile } = useUnsent.getState();
    addFile(stageId, file);
    cache.setQueryData(draftFileQuery(stageId, fileId).queryKey, content);
    try {
      const send = (_attempt: number, signal: AbortSignal) =>
        client.command('add_draft_file', { stageId, fileId, file: content }, { signal });
      await untilDelivered(send, { attemptMs: UPLOAD_MS });
      await cache.invalidateQueries({ queryKey: draftsQuery(stageId).queryKey });
      return file;
    } catch (error) {
      throw new Error(`${content.name} was not added. ${errorText(error)}`, { cause: error });
    } finally {
      removeFile(stageId, fileId);
    }
  }

  async function take(more: File[]): Promise<void> {
    const refused = filesProblem([...kept, ...uploading], more.map(leastSize));
    setProblem(refused);
    setNote(null);
    if (refused !== null) return;
    setAdding((times) => times + 1);
    const results = await Promise.allSettled(more.map(async (file) => save(await readFile(file))));
    const problems = results.flatMap((result) => (result.status === 'rejected' ? [errorText(result.reason)] : []));
    if (problems.length > 0) setProblem(problems.join(' '));
    setNote(notesOn(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))));
    setAdding((times) => times - 1);
  }

  return {
    kept,
    uploading,
    problem,
    /** What to know about the last ones that were accepted; null if there is nothing. */
    note,
    /** Whether no upload is pending. Files that were not accepted are reported in `problem` by then. */
    areUploaded: adding === 0 && uploading.length === 0,
    add: (more: File[]) => void take(more),
    /** The files went with a message. The server will say so soon; this screen knows it already. */
    sent(fileIds: readonly string[]) {
      setNote(null);
      cache.setQueryData(draftsQuery(stageId).queryKey, (drafts) =>
        drafts?.map((one) =>
          one.key === FILES_KEY ? { ...one, value: kept.filter(({ fileId }) => !fileIds.includes(fileId)) } : one,
        ),
      );
    },
  };
}

/** Removes a file again, on all screens. */
export const useRemoveFile = (stageId: StageId) =>
  useCommand({
    run: (fileId: string) => client.command('remove_draft_file', { stageId, fileId }),
    failed: 'The file was not removed',
  });
