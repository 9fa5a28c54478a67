import { z } from 'zod';
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
import { ContentQuery, FileContent } from './diff.ts';
import { StageId } from './ids.ts';
import { SideRun, SideRunKind } from './side-runs.ts';

const onStage = { stageId: StageId };
const ofComment = z.object({ ...onStage, commentId: CommentId });
const oneComment = z.object({ comment: ReviewComment });

/** The commands of a review: comments on the changes, and what was viewed of them. */
export const reviewCommands = {
  /** Returns the contents of a file before and after, if it is an image; null where it does not exist. */
  get_diff_content: {
    time: 'slow',
    input: ContentQuery.extend(onStage),
    reply: z.object({ before: FileContent.nullable(), after: FileContent.nullable() }),
  },
  /** Returns the sent comments, the findings, and the drafts of the person who asks. */
  get_comments: { time: 'read', input: z.object(onStage), reply: z.object({ comments: z.array(ReviewComment) }) },
  add_comment: { time: 'slow', input: NewComment.extend(onStage), reply: oneComment },
  edit_comment: { input: ofComment.extend(CommentPatch.shape), reply: oneComment },
  remove_comment: { input: ofComment, reply: oneComment },
  /** Sends drafts and findings as one message. */
  send_comments: { time: 'slow', input: SendComments.extend(onStage), reply: SentComments },
  get_viewed: { time: 'read', input: z.object(onStage), reply: z.object({ viewed: ViewedFiles }) },
  /** Lists what Claude was asked beside the conversation, newest first. */
  get_side_runs: { time: 'read', input: z.object(onStage), reply: z.object({ runs: z.array(SideRun) }) },
  /** Asks Claude to review the changes, or to write the text of a pull request. The answer comes as an event. */
  start_side_run: { input: z.object({ ...onStage, kind: SideRunKind }), reply: z.object({ run: SideRun }) },
  stop_side_run: { input: z.object({ ...onStage, runId: z.uuid() }), reply: z.object({ run: SideRun }) },
  set_viewed: { input: ViewedBody.extend(onStage), reply: z.object({ viewed: ViewedFiles }) },
} as const;
