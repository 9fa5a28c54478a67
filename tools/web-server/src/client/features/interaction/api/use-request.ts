import type { PendingRequest, StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { useCanAnswer } from '../../../stream/stream-context.tsx';

export const useStageTitle = (stageId: StageId): string =>
  useQuery({ ...boardQuery, select: (view) => stageOf(stageId)(view)?.title }).data ?? stageId;

/** Returns the folder in which the stage's Claude works; null while there is none. */
export const useFolder = (stageId: StageId): string | null =>
  useQuery({ ...boardQuery, select: (view) => stageOf(stageId)(view)?.worktree?.path ?? null }).data ?? null;

export const useProject = (stageId: StageId) =>
  useQuery({
    ...boardQuery,
    select: (view) => view.projects.find((project) => project.id === stageOf(stageId)(view)?.projectId),
  }).data;

export const useProjectName = (stageId: StageId): string | undefined => useProject(stageId)?.name;

/** Returns the name of the stage's current phase, if it has phases. */
export const usePhaseName = (stageId: StageId): string | undefined =>
  useQuery({
    ...boardQuery,
    select: (view) => {
      const stage = stageOf(stageId)(view);
      return stage?.pipeline[stage.session?.phaseIndex ?? 0]?.name;
    },
  }).data;

/** Returns all pending requests. */
export const usePending = () => useQuery({ ...boardQuery, select: (view) => view.pending }).data ?? [];

/** Whether an answer can be given now: nobody is answering, and the server is there. */
export const useCanDecide = ({ held }: PendingRequest): boolean => useCanAnswer() && held === undefined;
