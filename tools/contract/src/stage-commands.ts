import { z } from 'zod';
import { DiffQuery, StageDiff } from './changes.ts';
import { type CommandDefinitions, type DocsOf, MESSAGE_BODY_LIMIT } from './command.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { CompleteBody, Completion, CompletionQuery } from './merge.ts';
import { Attachment } from './messages.ts';
import { SuggestFiles } from './project-commands.ts';
import { CreateStage, StagePatch } from './stage-fields.ts';
import { Stage, StageView } from './stages.ts';
import { BuildFolders, LeftProcess, Removal, SavedFile, TrashEntry } from './trash.ts';

const onStage = { stageId: StageId };

export const stageCommands = {
  create_stage: {
    route: 'POST /api/stages',
    runs: 'project',
    input: CreateStage,
    reply: z.object({ stage: StageView }),
    status: 201,
    bodyLimit: MESSAGE_BODY_LIMIT,
  },
  get_stage: {
    route: 'GET /api/stages/:stageId',
    runs: 'store',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ stage: StageView }),
  },
  /** Returns a file of the stage's first message. */
  get_attachment: {
    route: 'GET /api/stages/:stageId/attachments/:fileId',
    runs: 'store',
    time: 'read',
    input: z.object({ ...onStage, fileId: z.uuid() }),
    reply: z.object({ file: Attachment }),
  },
  update_stage: {
    route: 'PATCH /api/stages/:stageId',
    body: 'patch',
    runs: 'owner',
    input: z.object({ ...onStage, patch: StagePatch }),
    reply: z.object({ stage: StageView }),
    bodyLimit: MESSAGE_BODY_LIMIT,
  },
  /** Returns what `remove_stage` would do to the stage's worktree now. */
  get_removal: {
    route: 'GET /api/stages/:stageId/removal',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ removal: Removal }),
  },
  remove_stage: {
    route: 'DELETE /api/stages/:stageId',
    runs: 'owner',
    time: 'slow',
    input: z.object({ ...onStage, buildFolders: BuildFolders.optional(), endSession: z.boolean().optional() }),
    reply: z.object({
      stage: Stage,
      /** What was left in place to prevent data loss, in words; null if everything was removed. */
      left: z.string().nullable(),
      /** The new trash entry; null if nothing went to the trash. */
      kept: TrashEntry.nullable(),
      /** The folders of dependencies and build results that were deleted permanently. */
      deleted: z.array(SavedFile),
      /** Processes that Claude's commands left running: they run on. */
      running: z.array(LeftProcess).optional(),
    }),
    isBodyOptional: true,
  },
  get_diff: {
    route: 'GET /api/stages/:stageId/diff',
    runs: 'owner',
    time: 'slow',
    input: DiffQuery.extend(onStage),
    reply: z.object({ diff: StageDiff }),
    query: DiffQuery,
  },
  /** Lists files of the stage's worktree whose paths match the query, best first; without a query, the topmost files. */
  suggest_files: {
    route: 'GET /api/stages/:stageId/files',
    runs: 'owner',
    input: SuggestFiles.extend(onStage),
    reply: z.object({ files: z.array(z.string()) }),
    query: SuggestFiles,
  },
  /** With `withoutSetup`, in a worktree that is not set up; with `withoutFetch`, from what the repository has. Replies when Claude is up, or when the set-up of the worktree begins. */
  start_stage: {
    route: 'POST /api/stages/:stageId/start',
    runs: 'start',
    time: 'slow',
    input: z.object({ ...onStage, withoutSetup: z.boolean().optional(), withoutFetch: z.boolean().optional() }),
    reply: z.object({ stage: StageView }),
    status: 202,
    isBodyOptional: true,
  },
  /** Starts the next phase of the stage's pipeline; after a check that did not pass, a person accepts the work as it is. */
  advance_stage: {
    route: 'POST /api/stages/:stageId/advance',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ stage: StageView }),
    status: 202,
  },
  stop_stage: {
    route: 'POST /api/stages/:stageId/stop',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ stage: StageView }),
    status: 202,
  },
  /** Moves a done stage back to Review. A message to the stage does the same, and is delivered. */
  reopen_stage: {
    route: 'POST /api/stages/:stageId/reopen',
    runs: 'store',
    input: z.object(onStage),
    reply: z.object({ stage: StageView }),
  },
  /** Returns what completing the stage would merge now, and whether its last completion can be taken back. Changes nothing. */
  get_completion: {
    route: 'GET /api/stages/:stageId/completion',
    runs: 'owner',
    time: 'slow',
    input: CompletionQuery.extend(onStage),
    reply: z.object({ completion: Completion }),
    query: CompletionQuery,
  },
  /** Commits that files which only Claude Code's sandbox had put there are no part of the branch, and returns them. */
  take_out_placeholders: {
    route: 'POST /api/stages/:stageId/placeholders/take-out',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ files: z.array(z.string()) }),
  },
  /** Marks the stage done; on request commits and merges its work first. */
  complete_stage: {
    route: 'POST /api/stages/:stageId/complete',
    runs: 'owner',
    time: 'slow',
    input: CompleteBody.extend(onStage),
    reply: z.object({ stage: StageView }),
    status: 202,
    isBodyOptional: true,
  },
  /** Takes the last completion back. A merge only while its branch still stands at it, it was not pushed, and the main checkout is clean. */
  undo_completion: {
    route: 'POST /api/stages/:stageId/undo',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ stage: StageView }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const stageDocs = (): DocsOf<typeof stageCommands> => {
  const { project, stage } = the;
  const ofProject = { projectId: project.id };
  const onStage = { stageId: stage.id };

  return {
    create_stage: {
      tag: 'stages',
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
      example: { input: { ...ofProject, title: stage.title, prompt: stage.prompt }, reply: { stage } },
    },
    get_stage: {
      tag: 'stages',
      summary: 'Get a stage with its column',
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { stage } },
    },
    get_attachment: {
      tag: 'stages',
      summary: "Get a file of the stage's first message",
      problems: ['unknown_stage', 'unknown_file'],
      example: { input: { ...onStage, fileId: the.draftFile.fileId }, reply: { file: the.attachment } },
    },
    update_stage: {
      tag: 'stages',
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
      example: { input: { ...onStage, patch: { priority: 5, held: false } }, reply: { stage } },
    },
    get_removal: {
      tag: 'stages',
      summary: 'Preview what deleting the stage would do to its worktree',
      description: 'Checks every ignored file, so it may take a moment.',
      problems: ['unknown_stage', 'worktree_failed'],
      example: { input: onStage, reply: { removal: the.removal } },
    },
    remove_stage: {
      tag: 'stages',
      summary: 'Delete a stage',
      description:
        'With `endSession`, its session and a check that runs are ended first; without it, a stage with either is refused. Its worktree is removed too, and its branch if that is merged. A worktree with uncommitted changes stays where it is, and so does a branch with unmerged work: `left` says so. Files that git ignores go to the trash for 30 days (`kept`), except copies that Callboard made and nobody changed; so do commits that no branch or tag has, such as those of a detached `HEAD` or of its reflog. Other branches and stashes stay. Dependency and build folders (`node_modules`, `dist`, ...) go there as well, unless `buildFolders` is `delete` (`deleted` lists them). Its decisions stay in the decision log.',
      problems: ['unknown_stage', 'stage_running', 'worktree_failed', 'storage_failed'],
      example: {
        input: { ...onStage, buildFolders: 'delete' },
        reply: { stage: Stage.parse(stage), left: null, kept: the.trashEntry, deleted: the.removal.buildFolders },
      },
    },
    get_diff: {
      tag: 'stages',
      summary: "Get the worktree's changes, per file",
      description:
        'Committed or not, compared with the branch that it would be merged into. Only file contents count: attributes, configuration and display filters have no effect. With `path`, returns that file alone, with its patch; with `base` and `tree` as well, compares those two, whatever has changed since. `range=turn` returns what has changed since the last turn began (`since`), `range=<commit>` what one commit changed; `context=whole` puts the whole file around the changes. A long patch comes in parts: `next` is the `from` of the part that follows. `limit` and `from` return the files page by page; pass `base` and `tree` of the first page with the others.',
      problems: ['unknown_stage', 'no_session', 'head_moved', 'worktree_failed'],
      example: { input: { ...onStage, path: 'src/login.ts' }, reply: { diff: the.diff } },
    },
    suggest_files: {
      tag: 'stages',
      summary: "Suggest files of the stage's worktree",
      description:
        'At most twenty paths, best first: the file name begins with the query, a part of the path contains it, or the path contains its letters in order. Files that git ignores are left out.',
      problems: ['unknown_stage', 'no_session', 'worktree_failed'],
      example: {
        input: { ...onStage, query: 'login' },
        reply: { files: ['src/login.ts', 'src/pages/login-form.tsx'] },
      },
    },
    start_stage: {
      tag: 'stages',
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
      example: { input: { ...onStage, withoutSetup: true }, reply: { stage } },
    },
    advance_stage: {
      tag: 'stages',
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
      example: { input: onStage, reply: { stage } },
    },
    stop_stage: {
      tag: 'stages',
      summary: "End a stage's session",
      description: 'First gracefully, then by force. Its work so far stays. A check that runs is stopped.',
      problems: ['unknown_stage', 'no_session', 'not_running'],
      example: { input: onStage, reply: { stage } },
    },
    reopen_stage: {
      tag: 'stages',
      summary: 'Reopen a stage that is done',
      description: 'It moves back to Review. A message to it does the same, and is delivered.',
      problems: ['unknown_stage', 'not_done'],
      example: { input: onStage, reply: { stage } },
    },
    get_completion: {
      tag: 'stages',
      summary: 'Preview what completing would merge',
      description:
        'Says what a merge, or the given `method`, would bring into which branch, uncommitted work included, where it would conflict, and whether the last completion can be taken back. Changes nothing.',
      problems: ['unknown_stage', 'worktree_failed'],
      example: { input: onStage, reply: { completion: the.completion } },
    },
    take_out_placeholders: {
      tag: 'stages',
      summary: "Take the placeholders of Claude Code's sandbox out of the branch",
      description:
        'While a command runs in the sandbox, empty files stand in the worktree that are not the project’s. If some were committed, this makes a commit without them, on the stage’s branch; nothing else changes. `files` names them.',
      problems: ['unknown_stage', 'stage_running', 'commit_refused', 'worktree_failed'],
      example: { input: onStage, reply: { files: ['.bashrc', '.claude/hooks'] } },
    },
    complete_stage: {
      tag: 'stages',
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
      example: { input: { ...onStage, merge: true, head: the.diff.head, tree: the.diff.tree }, reply: { stage } },
    },
    undo_completion: {
      tag: 'stages',
      summary: 'Take the last completion back',
      description:
        "A stage that was merged when it was completed goes back to Review, and the branch it was merged into to where it was: only while that branch still stands at the merge, the merge was not pushed, and the main checkout is on that branch without uncommitted changes. A stage that was merged later stays done. The stage's own branch keeps its commits.",
      problems: ['unknown_stage', 'not_done', 'undo_refused', 'worktree_failed'],
      example: { input: onStage, reply: { stage } },
    },
  };
};
