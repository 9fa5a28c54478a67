import type { CommandInput, CommandReply, Removal, StageId } from '@callboard/contract';
import { requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { Trash } from '../trash/trash.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Stages } from './stages.ts';

/** Takes stages off the board with their worktree. */
export interface StageRemoval {
  /** What `remove` would do to the stage's worktree now. @throws Rejection `unknown_stage` */
  plan(stageId: StageId): Promise<Removal>;
  /** @throws Rejection as `Stages.remove` and `Worktrees.remove` do */
  remove(input: CommandInput<'remove_stage'>, by: string): Promise<CommandReply<'remove_stage'>>;
}

export interface StageRemovalParts {
  store: Store;
  stages: Stages;
  worktrees: Worktrees;
  trash: Pick<Trash, 'keep'>;
}

const NO_WORKTREE: Removal = {
  worktree: null,
  left: null,
  files: [],
  fileCount: 0,
  bytes: 0,
  buildFolders: [],
  branch: null,
};

export function createStageRemoval({ store, stages, worktrees, trash }: StageRemovalParts): StageRemoval {
  return {
    async plan(stageId) {
      const stage = await requireStage(store.read, stageId);
      const project = await store.read.projects.find(stage.projectId);
      if (stage.worktree === null || project === null) return NO_WORKTREE;
      return worktrees.planRemoval(project, stage.worktree);
    },

    /** The worktree goes first: wherever this is interrupted, the stage is still there and can be removed again. */
    async remove({ stageId, buildFolders = 'keep' }, by) {
      const stage = await stages.requireRemovable(stageId);
      const project = await store.read.projects.find(stage.projectId);
      const { worktree } = stage;
      const mayBegin = async () => void (await stages.requireRemovable(stageId));
      const removed =
        worktree === null || project === null
          ? { left: null, kept: null, deleted: [] }
          : await worktrees.remove(project, worktree, {
              buildFolders,
              mayBegin,
              keep: (files) => trash.keep(worktree.path, files, { project, stage, by }),
            });
      return { stage: await stages.remove(stageId), ...removed };
    },
  };
}
