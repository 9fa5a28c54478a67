import { type Attachment, DraftFile, FILES_KEY, filesProblem, type StageId } from '@callboard/contract';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { z } from 'zod';
import { client, errorText } from '../../../lib/api.ts';
import { untilDelivered } from '../../../lib/until-delivered.ts';
import { draftOf, draftsQuery } from '../../../live/drafts.ts';
import { useCommand } from '../../../live/use-command.ts';
import { type ReadFile, readFile, useFilesOnTheirWay } from '../model/attachments.ts';

const NONE: readonly ReadFile[] = [];
/** A large file on a slow line. */
const UPLOAD_MS = 120_000;

/** A file's content, for its picture. */
export const draftFileQuery = (stageId: StageId, fileId: string) =>
  queryOptions({
    queryKey: ['draft-file', stageId, fileId],
    queryFn: async ({ signal }): Promise<Attachment> =>
      (await client.command('get_draft_file', { stageId, fileId }, { signal })).file,
  });

/**
 * The files that go with the stage's next message: `kept` by the server, the same on all screens, and those `onTheirWay`
 * to it. `problem` says why the last ones were not taken.
 */
export function useFiles(stageId: StageId) {
  const cache = useQueryClient();
  const { data: draft } = useQuery({ ...draftsQuery(stageId), select: draftOf(FILES_KEY) });
  const kept = z
    .array(DraftFile)
    .catch([])
    .parse(draft?.value ?? []);
  const onTheirWay = useFilesOnTheirWay((files) => files.byStage[stageId] ?? NONE);
  const [problem, setProblem] = useState<string | null>(null);
  /** How often files were added here that are not all read and sent yet. */
  const [adding, setAdding] = useState(0);

  async function keep(file: ReadFile): Promise<void> {
    const { fileId, content } = file;
    const { add, remove } = useFilesOnTheirWay.getState();
    add(stageId, file);
    cache.setQueryData(draftFileQuery(stageId, fileId).queryKey, content);
    try {
      const send = (_attempt: number, signal: AbortSignal) =>
        client.command('add_draft_file', { stageId, fileId, file: content }, { signal });
      await untilDelivered(send, { attemptMs: UPLOAD_MS });
      await cache.invalidateQueries({ queryKey: draftsQuery(stageId).queryKey });
    } catch (error) {
      throw new Error(`${content.name} was not added. ${errorText(error)}`, { cause: error });
    } finally {
      remove(stageId, fileId);
    }
  }

  async function take(more: File[]): Promise<void> {
    const refused = filesProblem([...kept, ...onTheirWay], more);
    setProblem(refused);
    if (refused !== null) return;
    setAdding((times) => times + 1);
    const results = await Promise.allSettled(more.map(async (file) => keep(await readFile(file))));
    const problems = results.flatMap((result) => (result.status === 'rejected' ? [errorText(result.reason)] : []));
    if (problems.length > 0) setProblem(problems.join(' '));
    setAdding((times) => times - 1);
  }

  return {
    kept,
    onTheirWay,
    problem,
    /** Whether all that were added are with the server, or were not taken: then `problem` says so by now. */
    areThere: adding === 0 && onTheirWay.length === 0,
    add: (list: FileList) => void take([...list]),
    /** They went with a message: the server says so soon, this screen knows it already. */
    sent(fileIds: readonly string[]) {
      cache.setQueryData(draftsQuery(stageId).queryKey, (drafts) =>
        drafts?.map((one) =>
          one.key === FILES_KEY ? { ...one, value: kept.filter(({ fileId }) => !fileIds.includes(fileId)) } : one,
        ),
      );
    },
  };
}

/** Takes a file away again, on all screens. */
export const useRemoveFile = (stageId: StageId) =>
  useCommand({
    run: (fileId: string) => client.command('remove_draft_file', { stageId, fileId }),
    failed: 'The file was not removed',
  });
