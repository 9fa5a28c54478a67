import { z } from 'zod';
import { ObjectId } from './changes.ts';
import { MessageId, StageId } from './ids.ts';
import { SendMessageReply } from './messages.ts';

/** A comment on a stage's changes. */
export const CommentId = z.string().min(1).max(200).brand<'CommentId'>();
export type CommentId = z.infer<typeof CommentId>;

/** Which version of a file: the one before the changes, or the one with them. */
export const DiffSide = z.enum(['old', 'new']);
export type DiffSide = z.infer<typeof DiffSide>;

/**
 * How far a comment is. `draft`: only its author sees it. `sent`: Claude has it, or it waits in the queue. `answered`: a turn
 * that read it has ended well. `outdated`: it was sent, and the lines under it have changed since.
 */
export const CommentState = z.enum(['draft', 'sent', 'answered', 'outdated']);
export type CommentState = z.infer<typeof CommentState>;

/** How serious a finding of Claude's own review is. */
export const FindingSeverity = z.enum(['high', 'medium', 'low']);
export type FindingSeverity = z.infer<typeof FindingSeverity>;

const CommentText = z
  .string()
  .max(20_000, 'is longer than 20,000 characters')
  .refine((text) => text.trim() !== '', 'is empty');
const Line = z.int().positive();

/** A comment on lines of a file. */
export const ReviewComment = z.object({
  id: CommentId,
  stageId: StageId,
  /** The person who wrote it; `Claude` for a finding. */
  author: z.string(),
  /** Claude's own review found it: any person may change, send or dismiss it. */
  isFinding: z.boolean().default(false),
  severity: FindingSeverity.nullable().default(null),
  /** As the changes name the file now. */
  path: z.string(),
  side: DiffSide,
  /** The first and the last line. They follow the code when lines above them change. */
  line: Line,
  endLine: Line,
  /** The content in which the comment has these lines: its part of `FileDiff.version`. */
  version: z.string(),
  /** The lines as they were when the comment was written; a long quote is cut. */
  quote: z.string(),
  text: z.string(),
  state: CommentState,
  /** The lines have changed since the comment was written, or are gone. */
  hasMoved: z.boolean(),
  createdAt: z.iso.datetime(),
  sentAt: z.iso.datetime().nullable(),
  sentBy: z.string().nullable(),
  /** The message that it went with. */
  messageId: MessageId.nullable(),
  /** When a turn that read it had ended well. */
  answeredAt: z.iso.datetime().nullable(),
  /** Whether the person who asks may change, remove and send it. */
  isMine: z.boolean(),
});
export type ReviewComment = z.infer<typeof ReviewComment>;

type Seen = Pick<ReviewComment, 'author' | 'isFinding' | 'sentAt'>;

/** The only person who sees the comment, its author while it is a draft; null: everybody does. */
export const onlySeenBy = ({ author, isFinding, sentAt }: Seen): string | null =>
  isFinding || sentAt !== null ? null : author;

export const isSeenBy = (comment: Seen, person: string): boolean => [null, person].includes(onlySeenBy(comment));

/** A new comment. */
export const NewComment = z.strictObject({
  /** Chosen by the client, so that a request that is repeated adds it once. */
  commentId: z.uuid().pipe(CommentId).optional(),
  path: z.string().min(1),
  side: DiffSide,
  line: Line,
  /** The last line; the same one if left out. */
  endLine: Line.optional(),
  text: CommentText,
  /** The versions that the person sees, as `get_diff` returned them; by default those of now. */
  base: ObjectId.optional(),
  tree: ObjectId.optional(),
});
export type NewComment = z.infer<typeof NewComment>;

export const CommentPatch = z.strictObject({ text: CommentText });

/** Which comments to send; all drafts of the sender if left out. */
export const SendComments = z.strictObject({ ids: z.array(CommentId).min(1).max(500).optional() });

/** What became of the comments that were sent: one message, and the comments with their marks. */
export const SentComments = z.object({ message: SendMessageReply, comments: z.array(ReviewComment) });
export type SentComments = z.infer<typeof SentComments>;

/** By path: the version of the file that a person ticked as viewed. */
export const ViewedFiles = z.record(z.string(), z.string());
export type ViewedFiles = z.infer<typeof ViewedFiles>;

/** Ticks a file as viewed in this version; a version of null takes the tick back. */
export const ViewedBody = z.strictObject({
  path: z.string().min(1).max(10_000),
  version: z.string().max(100).nullable(),
});
