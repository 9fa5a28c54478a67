import { ContentQuery } from '@callboard/contract';
import type { Relays } from './relay.ts';

/** The review of a stage's changes. */
export const commentRelays = {
  get_diff_content: {
    query: ContentQuery,
    summary: 'Get the contents of a binary file before and after',
    description:
      'Their sizes; the content itself only of PNG, JPEG, GIF and WebP images of at most 8 MiB, which their first bytes tell. `base` and `tree` as the diff returned them.',
    problems: ['unknown_stage', 'no_session', 'worktree_failed'],
  },
  get_comments: {
    summary: 'List the comments on the changes',
    description:
      "Everything that was sent, the findings of Claude's own reviews, and one's own drafts. Lines follow the code: they are those of the newest changes that anybody has read.",
    problems: ['unknown_stage'],
  },
  add_comment: {
    status: 201,
    summary: 'Comment on lines of the changes',
    description:
      'Adds a draft, which nobody else sees. `side` is `old` for the file before the changes. The lines are those of `base` and `tree` from the diff; without these, those of now.',
    problems: ['unknown_stage', 'no_session', 'head_moved', 'worktree_failed'],
  },
  edit_comment: {
    summary: 'Change a draft or a finding',
    problems: ['unknown_comment', 'comment_sent', 'not_your_comment'],
  },
  remove_comment: {
    summary: 'Remove a draft, or dismiss a finding',
    problems: ['unknown_comment', 'comment_sent', 'not_your_comment'],
  },
  send_comments: {
    isBodyOptional: true,
    summary: 'Send comments as one message',
    description:
      "All of one's drafts, or those in `ids`, with file, lines and the quoted code. Message and marks are stored together: repeated with the same `ids`, it sends nothing again. A stage that is done is reopened. If the message is removed from the queue, its comments are drafts again.",
    problems: [
      'unknown_stage',
      'no_session',
      'unknown_comment',
      'not_your_comment',
      'comment_sent',
      'no_comments',
      'claude_missing',
    ],
  },
  get_side_runs: {
    summary: 'List what Claude was asked beside the conversation',
    description: 'Reviews of the changes, and texts for pull requests; newest first, and only the newest are kept.',
    problems: ['unknown_stage'],
  },
  start_side_run: {
    status: 201,
    summary: 'Ask Claude for a review or for the text of a pull request',
    description:
      'Claude reads the changes in a conversation of its own, with tools that only read; the conversation of the stage is not disturbed. The reply comes at once, and `side-run-updated` tells the answer. Findings of a review become comments; those that name lines which the changes do not have are in `misplaced`. The cost counts for the stage.',
    problems: [
      'unknown_stage',
      'no_worktree',
      'no_session',
      'already_done',
      'already_running',
      'stage_running',
      'session_alarm',
      'disk_low',
    ],
  },
  stop_side_run: {
    summary: 'Stop a review or the writing of a text',
    description: 'One that has ended stays as it is.',
    problems: ['unknown_side_run', 'no_session'],
  },
  get_viewed: { summary: 'List the files that you have viewed', problems: ['unknown_stage'] },
  set_viewed: {
    summary: 'Tick a file as viewed',
    description:
      'In the `version` of the diff: when the file changes, it is not viewed any more. A version of null takes the tick back.',
    problems: ['unknown_stage'],
  },
} satisfies Relays;
