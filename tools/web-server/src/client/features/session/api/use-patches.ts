import type { FileDiff, StageDiff, StageId } from '@callboard/contract';
import { useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import type { Loaded } from '../model/change-rows.ts';
import { patchLines } from '../model/patch.ts';
import { fileKey, useReviewUi } from '../model/review-ui.ts';
import { filePatchQuery } from './stage-diff.ts';

const LOADING: Loaded = { state: 'loading' };

const withLines = (patch: string | null): Loaded => ({
  state: 'ready',
  patch,
  lines: patch === null ? [] : patchLines(patch),
});

/** The patches of the files that were asked for. They come from the same moment as the list of files. */
export function usePatches(stageId: StageId, diff: StageDiff) {
  const [asked, setAsked] = useState<ReadonlySet<string>>(new Set());
  const whole = useReviewUi((ui) => ui.whole);
  const files = diff.files.filter(({ path }) => asked.has(path));
  const results = useQueries({
    queries: files.map(({ path }) => ({
      ...filePatchQuery(stageId, diff, path, whole[fileKey(stageId, path)]),
      select: withLines,
    })),
  });
  const loaded = new Map(
    files.map(({ path }, at): [string, Loaded] => {
      const { data, error } = results[at] ?? {};
      if (error) return [path, { state: 'failed', error }];
      return [path, data ?? LOADING];
    }),
  );
  return {
    loadedOf: ({ path }: FileDiff): Loaded => loaded.get(path) ?? LOADING,
    ask(paths: readonly string[]): void {
      if (paths.some((path) => !asked.has(path))) setAsked(new Set([...asked, ...paths]));
    },
  };
}
