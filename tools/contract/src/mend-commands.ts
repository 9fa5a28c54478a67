import { z } from 'zod';
import { StageId } from './ids.ts';
import { BranchBody } from './merges.ts';
import { StageView } from './stages.ts';

const onStage = { stageId: StageId };

/** Commands that put right what happened to a stage's worktree outside Callboard. */
export const mendCommands = {
  /** Puts the stage's worktree back into its place if something else stands there, or nothing. */
  remake_worktree: { time: 'slow', input: z.object(onStage), reply: z.object({ stage: StageView }) },
  /** Makes the branch that the worktree is on the stage's branch; without one, moves the stage's branch to its commit. */
  take_branch: { time: 'slow', input: BranchBody.extend(onStage), reply: z.object({ stage: StageView }) },
  /** Sets the worktree back to the stage's branch. What no branch has goes to the trash. */
  go_back_to_branch: { time: 'slow', input: BranchBody.extend(onStage), reply: z.object({ stage: StageView }) },
} as const;
