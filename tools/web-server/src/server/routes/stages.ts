import { DiffQuery, SuggestFiles } from '@callboard/contract';
import type { Relays } from './relay.ts';

/** Stages, and the commands that move them. */
export const stageRelays = {
  create_stage: {
    status: 201,
    summary: 'Writes a new stage',
    description: 'It begins by itself only with `autoStart`.',
    problems: ['unknown_project', 'unknown_dependency'],
  },
  get_stage: { summary: 'A stage, with the column it stands in', problems: ['unknown_stage'] },
  update_stage: {
    summary: 'Changes a stage',
    description: 'Fields that are not named stay as they are.',
    problems: ['unknown_stage', 'unknown_dependency', 'stage_running'],
  },
  remove_stage: {
    summary: 'Removes a stage from the board',
    description:
      'Its worktree goes with it, and its branch if that is merged. A worktree with changes that are not committed stays where it is, and so does a branch with work that is not merged: `left` says so. Files that git ignores go to the trash for 30 days (`kept`), but for copies that Callboard made itself and nobody changed. Folders of dependencies and build results (`node_modules`, `dist`, ...) go there as well, unless `buildFolders` is `delete` (`deleted` says which). Its decisions stay in the decision log.',
    isBodyOptional: true,
    problems: ['unknown_stage', 'stage_running', 'worktree_failed', 'storage_failed'],
  },
  get_removal: {
    summary: 'What deleting the stage would do to its worktree now',
    description: 'Looks at every ignored file, so it may take a moment.',
    problems: ['unknown_stage', 'worktree_failed'],
  },
  reopen_stage: {
    summary: 'Takes a done stage back to Review',
    description: 'A message to it does the same, and is delivered.',
    problems: ['unknown_stage', 'not_done'],
  },
  get_diff: {
    query: DiffQuery,
    summary: "The worktree's change, per file",
    description:
      'Committed or not, against what the branch would be merged into. It is made of the contents alone: attributes, configuration and filters for display have no say. With `path` that file alone, with its patch; with `base` and `tree` as well, between those two, whatever has changed since.',
    problems: ['unknown_stage', 'no_session', 'head_moved', 'worktree_failed'],
  },
  suggest_files: {
    query: SuggestFiles,
    summary: "Files of the stage's worktree, for whoever types a path",
    description:
      'At most twenty paths, the best first: the name begins with the query, a part of the path holds it, its letters stand in the path in this order. What git ignores is left out.',
    problems: ['unknown_stage', 'no_session', 'worktree_failed'],
  },
  start_stage: {
    status: 202,
    summary: 'Starts a stage at once',
    description:
      "A person's start: neither the limit of parallel sessions nor `held` holds it back. A stage that was never started waits for those it depends on.",
    problems: [
      'unknown_stage',
      'already_running',
      'already_done',
      'session_alarm',
      'waits_for_dependency',
      'disk_low',
      'claude_missing',
      'launch_failed',
      'worktree_failed',
    ],
  },
  advance_stage: {
    status: 202,
    summary: 'Lets the next phase begin',
    description: "Past a gate of the stage's pipeline at which a person looks.",
    problems: [
      'unknown_stage',
      'no_session',
      'session_alarm',
      'not_at_gate',
      'already_running',
      'claude_missing',
      'launch_failed',
    ],
  },
  stop_stage: {
    status: 202,
    summary: "Ends a stage's session",
    description: 'First by asking, in the end by force. What it did so far stays.',
    problems: ['unknown_stage', 'no_session', 'not_running'],
  },
  complete_stage: {
    status: 202,
    isBodyOptional: true,
    summary: 'Declares a stage done',
    description:
      "With `merge` its newest commit is merged into the branch that the repository's main checkout is on, first. With `head` and `tree`, as the diff told them, nothing else is merged: where they are no longer true, it is refused with `head_moved`.",
    problems: [
      'unknown_stage',
      'stage_running',
      'already_done',
      'session_alarm',
      'uncommitted_work',
      'head_moved',
      'merge_conflict',
      'merge_refused',
      'worktree_failed',
    ],
  },
} satisfies Relays;
