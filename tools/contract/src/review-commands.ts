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

const onStage = { stageId: StageId };
const ofComment = z.object({ ...onStage, commentId: CommentId });
const oneComment = z.object({ comment: ReviewComment });

/** The commands of a review: comments on the changes, and what was viewed of them. */
export const reviewCommands = {
  /** Returns the contents of a binary file before and after; null where it does not exist. */
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
  set_viewed: { input: ViewedBody.extend(onStage), reply: z.object({ viewed: ViewedFiles }) },
} as const;
