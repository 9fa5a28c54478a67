import type { CommandInput, CommandReply, LeftProcess, Removal, StageId } from '@callboard/contract';
import { requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { Trash } from '../trash/trash.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Stages } from './stages.ts';

/** Removes stages from the board together with their worktrees. */
export interface StageRemoval {
  /** Returns what `remove` would do to the stage's worktree now. @throws Rejection `unknown_stage` */
  plan(stageId: StageId): Promise<Removal>;
  /** Removes the worktree, then the stage. @throws Rejection as `Stages.remove` and `Worktrees.remove` do */
  remove(input: CommandInput<'remove_stage'>, by: string): Promise<CommandReply<'remove_stage'>>;
}

export interface StageRemovalDeps {
  store: Store;
  stages: Stages;
  worktrees: Worktrees;
  trash: Pick<Trash, 'save'>;
  /** As `LeftoverProcesses`. */
  leftovers: Record<'list' | 'endMarkedOf', (stageId: StageId) => Promise<LeftProcess[]>>;
  /** Ends what runs in the worktree, and cleans it up. */
  cleanUp: (stageId: StageId) => Promise<void>;
}

const NO_WORKTREE: Removal = {
  worktree: null,
  left: null,
  files: [],
  fileCount: 0,
  bytes: 0,
  buildFolders: [],
  branch: null,
  loose: null,
};

export function createStageRemoval({
  store,
  stages,
  worktrees,
  trash,
  leftovers,
  cleanUp,
}: StageRemovalDeps): StageRemoval {
  return {
    async plan(stageId) {
      const stage = await requireStage(store.read, stageId);
      const project = await store.read.projects.find(stage.projectId);
      const running = await leftovers.list(stageId);
      if (stage.worktree === null || project === null) return { ...NO_WORKTREE, running };
      return { ...(await worktrees.planRemoval(project, stage.worktree, stageId)), running };
    },

    /** The worktree goes first: after an interruption the stage still exists, and removing it can be repeated. */
    async remove({ stageId, buildFolders = 'keep' }, by) {
      const stage = await stages.requireRemovable(stageId);
      const project = await store.read.projects.find(stage.projectId);
      const { worktree } = stage;
      await cleanUp(stageId);
      // Before the stage is gone: afterwards nobody knows whose they are.
      const running = await leftovers.endMarkedOf(stageId);
      const mayBegin = async () => void (await stages.requireRemovable(stageId));
      const removed =
        worktree === null || project === null
          ? { left: null, kept: null, deleted: [] }
          : await worktrees.remove(project, worktree, {
              buildFolders,
              mayBegin,
              stageId,
              save: (files, commits) => trash.save(worktree.path, files, { project, stage, by }, commits),
            });
      if (project !== null) await worktrees.dropTurns(project, stageId);
      const gone = await stages.remove(stageId);
      // A turn that was being kept meanwhile. The stage is gone, whether or not its ref can be removed.
      if (project !== null) await worktrees.dropTurns(project, stageId).catch(() => undefined);
      return { stage: gone, ...removed, running };
    },
  };
}
