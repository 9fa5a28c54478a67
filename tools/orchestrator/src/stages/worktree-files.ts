import type { DiffQuery, ProjectId, Stage, StageDiff, StageId, Worktree } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { requireProject, requireStage, unknownStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';

/** Reads files in the worktrees of stages and in the main checkouts of projects. */
export interface WorktreeFiles {
  /** Returns the diff of a worktree. @throws Rejection `unknown_stage`; `no_session` before the stage's first start */
  diff(stageId: StageId, query: DiffQuery): Promise<StageDiff>;
  /** Returns paths that match the query. @throws Rejection `unknown_stage`; `no_session` before the stage's first start */
  suggest(stageId: StageId, query: string): ReturnType<Worktrees['suggestFiles']>;
  /** Returns paths of the main checkout that match the query. @throws Rejection `unknown_project` */
  suggestIn(projectId: ProjectId, query: string): ReturnType<Worktrees['suggestFiles']>;
  /** Returns the branches of a project. @throws Rejection `unknown_project` */
  branches(projectId: ProjectId): ReturnType<Worktrees['branches']>;
}

export function createWorktreeFiles({ store, worktrees }: { store: Store; worktrees: Worktrees }): WorktreeFiles {
  function worktreeOf({ id, worktree }: Stage): Worktree {
    if (worktree === null) throw new Rejection('no_session', `${id} has no worktree yet. Start the stage first.`);
    return worktree;
  }

  return {
    async diff(stageId, query) {
      const stage = await requireStage(store.read, stageId);
      const worktree = worktreeOf(stage);
      const project = await store.read.projects.find(stage.projectId);
      if (project === null) throw unknownStage(stageId);
      return worktrees.diff(project, worktree, query);
    },
    suggest: async (stageId, query) =>
      worktrees.suggestFiles(worktreeOf(await requireStage(store.read, stageId)), query),
    suggestIn: async (projectId, query) => worktrees.suggestFiles(await requireProject(store.read, projectId), query),
    branches: async (projectId) => worktrees.branches(await requireProject(store.read, projectId)),
  };
}
