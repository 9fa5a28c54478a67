import type { StageDiff, StageView } from '@callboard/contract';
import { Button, Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ComponentType, useEffect, useMemo, useRef, useState } from 'react';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { rangeDiffQuery, stageDiffQuery, useReloadDiff } from '../api/stage-diff.ts';
import { inTreeOrder } from '../model/change-tree.ts';
import { useReviewUi } from '../model/review-ui.ts';
import { useShownChanges } from '../model/shown-changes.ts';
import { ChangesView } from './changes-view.tsx';
import { LinkedComment } from './linked-comment.tsx';
import css from './stage-changes.module.css';
import { useCommentOfAddress } from './use-linked-comment.ts';

interface StageChangesProps {
  stage: StageView;
  /** Beside the transcript, where the border between them can move. */
  isPane?: boolean;
  /** What follows the last file: what can be done with the changes. */
  EndSlot?: ComponentType<{ stage: StageView; diff: StageDiff }>;
}

/** The stage's changes against its base, committed or not: a tree of files, and one file after another. */
export default function StageChanges({ stage, isPane = false, EndSlot }: StageChangesProps) {
  const range = useReviewUi((ui) => ui.range[stage.id] ?? '');
  const enabled = stage.worktree !== null;
  const all = useQuery({ ...stageDiffQuery(stage.id), enabled });
  const part = useQuery({ ...rangeDiffQuery(stage.id, range), enabled: enabled && range !== '' });
  const { data, error, isFetching, refetch } = range === '' ? all : part;
  const linked = useCommentOfAddress();
  useEffect(() => {
    // A part of the changes may not have its file.
    if (linked !== null) useReviewUi.getState().setRange(stage.id, '');
  }, [linked, stage.id]);
  useEffect(() => {
    if (all.data !== undefined) useShownChanges.getState().show(stage.id, all.data);
  }, [all.data, stage.id]);
  const reload = useReloadDiff(stage.id);
  useReloadAtSteps(stage, reload);
  const shown = useShown(range, data);
  const saved = data !== undefined || error === null ? shown : null;
  const diff = useMemo(() => saved && { ...saved.diff, files: inTreeOrder(saved.diff.files) }, [saved]);
  return (
    <section className={css.changes} aria-label="Changes">
      {stage.worktree === null && <p className={css.empty}>Nothing has changed: the stage was never started.</p>}
      {(stage.worktree === null || all.data !== undefined) && (
        <LinkedComment stageId={stage.id} paths={all.data?.files.map(({ path }) => path) ?? null} />
      )}
      {error !== null && (
        <ErrorNote
          lead="The changes could not be read."
          error={error}
          stageId={stage.id}
          retry={() => void refetch()}
        />
      )}
      {error !== null && range !== '' && (
        <Button variant="default" size="compact-sm" onClick={() => useReviewUi.getState().setRange(stage.id, '')}>
          Show all changes
        </Button>
      )}
      {diff === null && isFetching && (
        <p className={css.empty}>
          <Loader size="sm" color="gray" role="img" aria-label="Reading the changes" />
        </p>
      )}
      {diff !== null && (
        <ChangesView
          stage={stage}
          diff={diff}
          range={saved?.range ?? range}
          commits={all.data?.commits ?? []}
          isPane={isPane}
          isLoading={isFetching}
          reload={reload}
          // Beside the transcript, the stage's head has the button for a stage without changes.
          end={EndSlot && (!isPane || diff.files.length > 0) && <EndSlot stage={stage} diff={diff} />}
        />
      )}
    </section>
  );
}

interface Shown {
  range: string;
  diff: StageDiff;
}

/** What was read last, with the range it is of. It stays until another range is read, so that the choice keeps the focus. */
function useShown(range: string, data: StageDiff | undefined): Shown | null {
  const [shown, setShown] = useState<Shown | null>(null);
  if (data === undefined || (shown?.diff === data && shown.range === range)) return shown;
  const now = { range, diff: data };
  setShown(now);
  return now;
}

/** Reloads the changes whenever the session begins to work, waits for a person, or ends a turn: it may have edited files until then. */
function useReloadAtSteps({ session, worktree }: StageView, reload: () => void): void {
  const { stateSince, changes } = session ?? {};
  const step = `${stateSince} ${changes?.files} ${changes?.additions} ${changes?.deletions}`;
  const loadedAt = useRef(step);
  useEffect(() => {
    if (loadedAt.current === step) return;
    loadedAt.current = step;
    if (worktree !== null) reload();
  });
}
