import type { Comments } from '../../comments/comments.ts';
import type { Viewed } from '../../comments/viewed.ts';
import type { SideRuns } from '../../side-runs/side-runs.ts';
import type { WorktreeFiles } from '../../stages/worktree-files.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface ReviewDeps {
  comments: Comments;
  viewed: Viewed;
  files: WorktreeFiles;
  sideRuns: SideRuns;
}

type ReviewCommands =
  | 'get_diff_content'
  | 'get_comments'
  | 'add_comment'
  | 'edit_comment'
  | 'remove_comment'
  | 'send_comments'
  | 'get_side_runs'
  | 'start_side_run'
  | 'stop_side_run'
  | 'get_viewed'
  | 'set_viewed';

export function reviewCommands({
  comments,
  viewed,
  files,
  sideRuns,
}: ReviewDeps): Pick<CommandHandlers, ReviewCommands> {
  return {
    get_diff_content: ({ stageId, ...query }) => files.content(stageId, query),
    get_comments: async ({ stageId }, { actor }) => ({ comments: await comments.list(stageId, actor.name) }),
    add_comment: async ({ stageId, ...comment }, { actor }) => ({
      comment: await comments.add(stageId, comment, actor.name),
    }),
    edit_comment: async ({ stageId, commentId, text }, { actor }) => ({
      comment: await comments.edit(stageId, commentId, text, actor.name),
    }),
    remove_comment: async ({ stageId, commentId }, { actor }) => ({
      comment: await comments.remove(stageId, commentId, actor.name),
    }),
    send_comments: ({ stageId, ids }, { actor }) => comments.send(stageId, ids, actor.name),
    get_side_runs: async ({ stageId }) => ({ runs: await sideRuns.list(stageId) }),
    start_side_run: async ({ stageId, kind }, { actor }) => ({
      run: await sideRuns.start(stageId, kind, actor.name),
    }),
    stop_side_run: async ({ stageId, runId }, { actor }) => ({
      run: await sideRuns.stop(stageId, runId, actor.name),
    }),
    get_viewed: async ({ stageId }, { actor }) => ({ viewed: await viewed.list(stageId, actor.name) }),
    set_viewed: async ({ stageId, ...file }, { actor }) => ({
      viewed: await viewed.set(stageId, file, actor.name),
    }),
  };
}
