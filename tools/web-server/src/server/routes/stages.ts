import { CompletionQuery, DiffQuery, SuggestFiles } from '@callboard/contract';
import { MESSAGE_BODY_LIMIT, type Relays } from './relay.ts';

/** Stages, and the commands that control them. */
export const stageRelays = {
  create_stage: {
    status: 201,
    bodyLimit: MESSAGE_BODY_LIMIT,
    summary: 'Create a stage',
    description:
      'It starts automatically only with `autoStart`. Its branch begins at `base` (a branch, tag or commit; by default where the main checkout is) and is called `branch` (by default `callboard/<stage-id>`); it is merged into the branch of the main checkout. `attachments` go with its first message, whenever that is sent; the body may have 25 MB, attachments included. `pipeline` is a list of phases, or the name of a pipeline: a built-in one, one of the project, or one of `callboard.yaml` in the current commit of the main checkout. The stage takes a copy of its phases, and its `finish` unless the body has one. `finish` decides for this stage; with null, or without any, that of `callboard.yaml` at the base commit decides, then that of the project. If the reply is lost, send the same again with the same `creationId` (a UUID of your choice): that creates no second stage, and returns the first as it is now.',
    problems: [
      'unknown_project',
      'unknown_dependency',
      'unknown_base',
      'unknown_pipeline',
      'settings_not_agreed',
      'bad_branch',
      'branch_taken',
      'too_many_files',
      'bad_file',
    ],
  },
  get_stage: { summary: 'Get a stage with its column', problems: ['unknown_stage'] },
  get_attachment: {
    summary: "Get a file of the stage's first message",
    problems: ['unknown_stage', 'unknown_file'],
  },
  update_stage: {
    bodyLimit: MESSAGE_BODY_LIMIT,
    summary: 'Change a stage',
    description:
      'Fields that are left out stay unchanged. With `files` or `attachments`, the stage has exactly these files: those of its own that `files` names, then the new ones. A stage that was started keeps its prompt with its files, mode, effort, base and branch, and the phases that have begun; only the gate of the current one can change.',
    problems: [
      'unknown_stage',
      'unknown_dependency',
      'unknown_base',
      'unknown_pipeline',
      'settings_not_agreed',
      'unknown_file',
      'too_many_files',
      'bad_file',
      'bad_branch',
      'branch_taken',
      'stage_running',
      'stage_changed',
    ],
  },
  remove_stage: {
    summary: 'Delete a stage',
    description:
      'Its worktree is removed too, and its branch if that is merged. A worktree with uncommitted changes stays where it is, and so does a branch with unmerged work: `left` says so. Files that git ignores go to the trash for 30 days (`kept`), except copies that Callboard made and nobody changed; so do commits that no branch or tag has, such as those of a detached `HEAD` or of its reflog. Other branches and stashes stay. Dependency and build folders (`node_modules`, `dist`, ...) go there as well, unless `buildFolders` is `delete` (`deleted` lists them). Its decisions stay in the decision log.',
    isBodyOptional: true,
    problems: ['unknown_stage', 'stage_running', 'worktree_failed', 'storage_failed'],
  },
  get_removal: {
    summary: 'Preview what deleting the stage would do to its worktree',
    description: 'Checks every ignored file, so it may take a moment.',
    problems: ['unknown_stage', 'worktree_failed'],
  },
  reopen_stage: {
    summary: 'Reopen a stage that is done',
    description: 'It moves back to Review. A message to it does the same, and is delivered.',
    problems: ['unknown_stage', 'not_done'],
  },
  get_diff: {
    query: DiffQuery,
    summary: "Get the worktree's changes, per file",
    description:
      'Committed or not, compared with the branch that it would be merged into. Only file contents count: attributes, configuration and display filters have no effect. With `path`, returns that file alone, with its patch; with `base` and `tree` as well, compares those two, whatever has changed since. `range=turn` returns what has changed since the last turn began (`since`), `range=<commit>` what one commit changed; `context=whole` puts the whole file around the changes.',
    problems: ['unknown_stage', 'no_session', 'head_moved', 'worktree_failed'],
  },
  suggest_files: {
    query: SuggestFiles,
    summary: "Suggest files of the stage's worktree",
    description:
      'At most twenty paths, best first: the file name begins with the query, a part of the path contains it, or the path contains its letters in order. Files that git ignores are left out.',
    problems: ['unknown_stage', 'no_session', 'worktree_failed'],
  },
  start_stage: {
    status: 202,
    isBodyOptional: true,
    summary: 'Start a stage now',
    description:
      'With `withoutSetup`, Claude starts in a worktree that is not set up; with `withoutFetch`, a new worktree begins at what the repository has, although the project wants a fetch first. The reply comes when Claude is up, or when the set-up of the worktree begins. The limit of parallel sessions does not apply to a start by a person, and a stage that is on hold is released by it. A stage that was never started is refused while a stage that it depends on is not done.',
    problems: [
      'unknown_stage',
      'already_running',
      'already_done',
      'session_alarm',
      'budget_spent',
      'waits_for_dependency',
      'disk_low',
      'claude_missing',
      'launch_failed',
      'worktree_failed',
      'setup_failed',
      'fetch_failed',
      'settings_invalid',
      'settings_not_agreed',
    ],
  },
  advance_stage: {
    status: 202,
    summary: 'Start the next phase',
    description:
      "Passes the gate of the stage's pipeline that waits for a person. After a check that did not pass, it accepts the work as it is: the next phase begins, or the stage moves to Review.",
    problems: [
      'unknown_stage',
      'no_session',
      'session_alarm',
      'not_at_gate',
      'background_work',
      'already_running',
      'claude_missing',
      'launch_failed',
    ],
  },
  stop_stage: {
    status: 202,
    summary: "End a stage's session",
    description: 'First gracefully, then by force. Its work so far stays. A check that runs is stopped.',
    problems: ['unknown_stage', 'no_session', 'not_running'],
  },
  get_checks: {
    summary: "List the runs of a stage's checks",
    description:
      'Newest first. The output of a run is that of its command: `GET /api/stages/:stageId/commands/:commandId/output`. `failures` are those before it: with `attempts` of them a person decides, before that each goes back to Claude as a message (`messageId`).',
    problems: ['unknown_stage'],
  },
  get_phases: {
    summary: "List the phases of a stage's pipeline that have begun",
    description: 'Oldest first, with the prompt as it was sent to Claude, and the last words of Claude in it.',
    problems: ['unknown_stage'],
  },
  run_check: {
    status: 202,
    summary: "Run the current phase's check again",
    description: 'What follows from its result is the same as after a turn of Claude.',
    problems: [
      'unknown_stage',
      'no_session',
      'session_alarm',
      'no_check',
      'already_running',
      'background_work',
      'already_done',
    ],
  },
  stop_check: {
    status: 202,
    summary: 'Stop the check that runs',
    description: 'The stage then needs a person: run it again, write to Claude, or advance.',
    problems: ['unknown_stage', 'no_session', 'no_check'],
  },
  send_check: {
    status: 202,
    summary: 'Send the failure of the newest check to Claude once more',
    description: 'After its turn the check runs again; if it fails, a person decides again.',
    problems: [
      'unknown_stage',
      'no_session',
      'session_alarm',
      'no_check',
      'already_running',
      'background_work',
      'disk_low',
    ],
  },
  complete_stage: {
    status: 202,
    isBodyOptional: true,
    summary: 'Mark a stage as done',
    description:
      "With `merge`, first brings its work into the branch that the repository's main checkout is on: with a merge commit (`true` or `merge`), as a single commit with `message` (`squash`), or as copies of its commits on top, with their authors and dates (`rebase`). The stage then has `merged`. A stage that is done and was not merged can be merged later in the same way. With `commit`, first commits everything in the worktree that git does not ignore, on the stage's branch, and runs the repository's hooks that were agreed to. With `head` and `tree` from the diff, takes exactly these: if either has changed, the request is refused with `head_moved`. A squash and a rebase need git 2.38 or newer, unless the branch is ahead and nothing has to be merged: `merge_refused`.",
    problems: [
      'unknown_stage',
      'stage_running',
      'background_work',
      'already_done',
      'session_alarm',
      'uncommitted_work',
      'head_moved',
      'merge_conflict',
      'merge_refused',
      'commit_refused',
      'branch_left',
      'worktree_replaced',
      'worktree_failed',
    ],
  },
  get_completion: {
    query: CompletionQuery,
    summary: 'Preview what completing would merge',
    description:
      'Says what a merge, or the given `method`, would bring into which branch, uncommitted work included, where it would conflict, and whether the last completion can be taken back. Changes nothing.',
    problems: ['unknown_stage', 'worktree_failed'],
  },
  take_out_placeholders: {
    summary: "Take the placeholders of Claude Code's sandbox out of the branch",
    description:
      'While a command runs in the sandbox, empty files stand in the worktree that are not the project’s. If some were committed, this makes a commit without them, on the stage’s branch; nothing else changes. `files` names them.',
    problems: ['unknown_stage', 'stage_running', 'commit_refused', 'worktree_failed'],
  },
  undo_completion: {
    summary: 'Take the last completion back',
    description:
      "A stage that was merged when it was completed goes back to Review, and the branch it was merged into to where it was: only while that branch still stands at the merge, the merge was not pushed, and the main checkout is on that branch without uncommitted changes. A stage that was merged later stays done. The stage's own branch keeps its commits.",
    problems: ['unknown_stage', 'not_done', 'undo_refused', 'worktree_failed'],
  },
  remake_worktree: {
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
  },
  take_branch: {
    summary: "Take what the worktree is at as the stage's branch",
    description:
      "For a worktree that is not on the stage's branch (`elsewhere` of the completion's preview): the branch that it is on becomes the stage's. If it is on none, the stage's branch moves forward to its commit, or, where that branch has other commits, a new branch is made. With `head`, only if the worktree is still at this commit.",
    problems: ['unknown_stage', 'no_worktree', 'stage_running', 'branch_left', 'head_moved', 'worktree_failed'],
  },
  go_back_to_branch: {
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
  },
} satisfies Relays;
