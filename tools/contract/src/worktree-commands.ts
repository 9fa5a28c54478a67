import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { BranchBody } from './merge.ts';
import { StageView } from './stages.ts';

const onStage = { stageId: StageId };

/** Commands that put right what happened to a stage's worktree outside Callboard. */
export const repairCommands = {
  /** Puts the stage's worktree back into its place if something else stands there, or nothing. */
  remake_worktree: {
    route: 'POST /api/stages/:stageId/worktree/remake',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ stage: StageView }),
  },
  /** Makes the branch that the worktree is on the stage's branch; without one, moves the stage's branch to its commit. */
  take_branch: {
    route: 'POST /api/stages/:stageId/branch/take',
    runs: 'owner',
    time: 'slow',
    input: BranchBody.extend(onStage),
    reply: z.object({ stage: StageView }),
  },
  /** Sets the worktree back to the stage's branch. What no branch has goes to the trash. */
  go_back_to_branch: {
    route: 'POST /api/stages/:stageId/branch/go-back',
    runs: 'owner',
    time: 'slow',
    input: BranchBody.extend(onStage),
    reply: z.object({ stage: StageView }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const mendDocs = (): DocsOf<typeof repairCommands> => {
  const { stage } = the;
  const onStage = { stageId: stage.id };

  return {
    remake_worktree: {
      tag: 'stages',
      summary: "Put the stage's worktree back into its place",
      description:
        'For a worktree whose folder is gone or was replaced: nothing runs there then (`worktree_replaced`, which says what stands there and what is lost). Its own folder is connected with the repository again, with all its files. Otherwise the worktree is made from its branch, with uncommitted files as they were last recorded after a turn; what stands there, and commits that no branch has, go to the trash. A worktree in its place stays as it is.',
      problems: [
        'unknown_stage',
        'no_worktree',
        'stage_running',
        'session_alarm',
        'in_terminal',
        'worktree_failed',
        'storage_failed',
      ],
      example: { input: onStage, reply: { stage } },
    },
    take_branch: {
      tag: 'stages',
      summary: "Take what the worktree is at as the stage's branch",
      description:
        "For a worktree that is not on the stage's branch (`elsewhere` of the completion's preview): the branch that it is on becomes the stage's. If it is on none, the stage's branch moves forward to its commit, or, where that branch has other commits, a new branch is made. With `head`, only if the worktree is still at this commit.",
      problems: ['unknown_stage', 'no_worktree', 'stage_running', 'branch_left', 'head_moved', 'worktree_failed'],
      example: { input: { ...onStage, head: the.diff.head }, reply: { stage } },
    },
    go_back_to_branch: {
      tag: 'stages',
      summary: "Set the worktree back to the stage's branch",
      description:
        'Another branch that it is on keeps its commits. Commits that no branch has go to the trash, and so does the state of a half-done rebase, which is aborted. Uncommitted changes come along; where git cannot take them along, nothing is changed. With `head`, only if the worktree is still at this commit.',
      problems: [
        'unknown_stage',
        'no_worktree',
        'stage_running',
        'branch_left',
        'head_moved',
        'worktree_failed',
        'storage_failed',
      ],
      example: { input: { ...onStage, head: the.diff.head }, reply: { stage } },
    },
  };
};
