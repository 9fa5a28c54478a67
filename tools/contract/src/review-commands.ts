import { z } from 'zod';
import { ContentQuery, FileContent } from './changes.ts';
import type { CommandDefinitions, DocsOf } from './command.ts';
import {
  CommentId,
  CommentPatch,
  NewComment,
  ReviewComment,
  SendComments,
  SentComments,
  ViewedBody,
  ViewedFiles,
} from './comments.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { SideRun, SideRunKind } from './review.ts';

const onStage = { stageId: StageId };
const ofComment = z.object({ ...onStage, commentId: CommentId });
const oneComment = z.object({ comment: ReviewComment });

/** The commands of a review: comments on the changes, and what was viewed of them. */
export const reviewCommands = {
  /** Returns the contents of a file before and after, if it is an image; null where it does not exist. */
  get_diff_content: {
    route: 'GET /api/stages/:stageId/diff/content',
    runs: 'owner',
    time: 'slow',
    input: ContentQuery.extend(onStage),
    reply: z.object({ before: FileContent.nullable(), after: FileContent.nullable() }),
    query: ContentQuery,
  },
  /** Returns the sent comments, the findings, and the drafts of the person who asks. */
  get_comments: {
    route: 'GET /api/stages/:stageId/comments',
    runs: 'store',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ comments: z.array(ReviewComment) }),
  },
  add_comment: {
    route: 'POST /api/stages/:stageId/comments',
    runs: 'owner',
    time: 'slow',
    input: NewComment.extend(onStage),
    reply: oneComment,
    status: 201,
  },
  edit_comment: {
    route: 'PATCH /api/stages/:stageId/comments/:commentId',
    runs: 'store',
    input: ofComment.extend(CommentPatch.shape),
    reply: oneComment,
  },
  remove_comment: {
    route: 'DELETE /api/stages/:stageId/comments/:commentId',
    runs: 'store',
    input: ofComment,
    reply: oneComment,
  },
  /** Sends drafts and findings as one message. */
  send_comments: {
    route: 'POST /api/stages/:stageId/comments/send',
    runs: 'owner',
    time: 'slow',
    input: SendComments.extend(onStage),
    reply: SentComments,
    isBodyOptional: true,
  },
  get_viewed: {
    route: 'GET /api/stages/:stageId/viewed',
    runs: 'store',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ viewed: ViewedFiles }),
  },
  /** Lists what Claude was asked beside the conversation, newest first. */
  get_side_runs: {
    route: 'GET /api/stages/:stageId/side-runs',
    runs: 'store',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ runs: z.array(SideRun) }),
  },
  /** Asks Claude to review the changes, or to write the text of a pull request. The answer comes as an event. */
  start_side_run: {
    route: 'POST /api/stages/:stageId/side-runs',
    runs: 'owner',
    input: z.object({ ...onStage, kind: SideRunKind }),
    reply: z.object({ run: SideRun }),
    status: 201,
  },
  stop_side_run: {
    route: 'POST /api/stages/:stageId/side-runs/:runId/stop',
    runs: 'owner',
    input: z.object({ ...onStage, runId: z.uuid() }),
    reply: z.object({ run: SideRun }),
  },
  set_viewed: {
    route: 'PUT /api/stages/:stageId/viewed',
    runs: 'store',
    input: ViewedBody.extend(onStage),
    reply: z.object({ viewed: ViewedFiles }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const reviewDocs = (): DocsOf<typeof reviewCommands> => {
  const { stage, queued } = the;
  const onStage = { stageId: stage.id };
  const onComment = { ...onStage, commentId: the.comment.id };

  return {
    get_diff_content: {
      tag: 'review',
      summary: 'Get the contents of a binary file before and after',
      description:
        'Their sizes; the content itself only of PNG, JPEG, GIF and WebP images of at most 8 MiB, which their first bytes tell. `base` and `tree` as the diff returned them.',
      problems: ['unknown_stage', 'no_session', 'worktree_failed'],
      example: {
        input: { ...onStage, path: 'logo.png', base: the.diff.base, tree: the.diff.tree },
        reply: { before: null, after: the.image },
      },
    },
    get_comments: {
      tag: 'review',
      summary: 'List the comments on the changes',
      description:
        "Everything that was sent, the findings of Claude's own reviews, and one's own drafts. Lines follow the code: they are those of the newest changes that anybody has read.",
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { comments: [the.comment] } },
    },
    add_comment: {
      tag: 'review',
      summary: 'Comment on lines of the changes',
      description:
        'Adds a draft, which nobody else sees. `side` is `old` for the file before the changes. The lines are those of `base` and `tree` from the diff; without these, those of now.',
      problems: ['unknown_stage', 'no_session', 'head_moved', 'worktree_failed'],
      example: {
        input: { ...onStage, path: the.comment.path, side: 'new', line: 1, text: the.comment.text },
        reply: { comment: the.comment },
      },
    },
    edit_comment: {
      tag: 'review',
      summary: 'Change a draft or a finding',
      problems: ['unknown_comment', 'comment_sent', 'not_your_comment'],
      example: { input: { ...onComment, text: the.comment.text }, reply: { comment: the.comment } },
    },
    remove_comment: {
      tag: 'review',
      summary: 'Remove a draft, or dismiss a finding',
      problems: ['unknown_comment', 'comment_sent', 'not_your_comment'],
      example: { input: onComment, reply: { comment: the.comment } },
    },
    send_comments: {
      tag: 'review',
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
      example: {
        input: { ...onStage, ids: [the.comment.id] },
        reply: {
          message: { status: 'sent', messageId: queued.messageId },
          comments: [
            {
              ...the.comment,
              state: 'sent',
              sentAt: the.comment.createdAt,
              sentBy: 'ada',
              messageId: queued.messageId,
              isMine: false,
            },
          ],
        },
      },
    },
    get_viewed: {
      tag: 'review',
      summary: 'List the files that you have viewed',
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { viewed: { 'src/login.ts': '..5be1a5d6a2d0c7d4' } } },
    },
    get_side_runs: {
      tag: 'review',
      summary: 'List what Claude was asked beside the conversation',
      description: 'Reviews of the changes, and texts for pull requests; newest first, and only the newest are kept.',
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { runs: [the.sideRun] } },
    },
    start_side_run: {
      tag: 'review',
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
      example: {
        input: { ...onStage, kind: 'review' },
        reply: { run: { ...the.sideRun, state: 'waiting', endedAt: null, costUsd: null, summary: null, findings: 0 } },
      },
    },
    stop_side_run: {
      tag: 'review',
      summary: 'Stop a review or the writing of a text',
      description: 'One that has ended stays as it is.',
      problems: ['unknown_side_run', 'no_session'],
      example: {
        input: { ...onStage, runId: the.sideRun.id },
        reply: { run: { ...the.sideRun, state: 'stopped', reason: 'Stopped by ada.' } },
      },
    },
    set_viewed: {
      tag: 'review',
      summary: 'Tick a file as viewed',
      description:
        'In the `version` of the diff: when the file changes, it is not viewed any more. A version of null takes the tick back.',
      problems: ['unknown_stage'],
      example: {
        input: { ...onStage, path: 'src/login.ts', version: '..5be1a5d6a2d0c7d4' },
        reply: { viewed: { 'src/login.ts': '..5be1a5d6a2d0c7d4' } },
      },
    },
  };
};
