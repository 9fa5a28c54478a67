import type { StageId } from '@callboard/contract';
import { useState } from 'react';
import { errorText } from '../../../lib/api.ts';
import { type HeldFile, readFile, tooMuch, useHeldFiles } from '../model/attachments.ts';

const NONE: readonly HeldFile[] = [];

/** The files that go with the next message; `problem` says why the last ones were not taken. */
export function useFiles(stageId: StageId) {
  const files = useHeldFiles((held) => held.byStage[stageId] ?? NONE);
  const [problem, setProblem] = useState<string | null>(null);

  async function take(more: File[]): Promise<void> {
    const refused = tooMuch(files, more);
    setProblem(refused);
    if (refused !== null) return;
    const read = await Promise.allSettled(more.map(readFile));
    const problems = read.flatMap((result) => (result.status === 'rejected' ? [errorText(result.reason)] : []));
    if (problems.length > 0) setProblem(problems.join(' '));
    const taken = read.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    useHeldFiles.getState().add(stageId, taken);
  }

  return { files, problem, add: (list: FileList) => void take([...list]) };
}
