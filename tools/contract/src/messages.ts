import { z } from 'zod';
import { MessageId, StageId } from './ids.ts';

/**
 * What to do with a message while Claude works: `append` a row, `replace` all undelivered rows, `steer` it into the
 * running turn, or interrupt and send it `now`.
 */
export const MessageMode = z.enum(['append', 'replace', 'steer', 'now']);
export type MessageMode = z.infer<typeof MessageMode>;

/** An image or a text file that goes with a message, without its content. */
export const AttachmentInfo = z.object({ name: z.string(), mediaType: z.string() });
export type AttachmentInfo = z.infer<typeof AttachmentInfo>;

/** What the API takes: images, PDF documents and text. */
export const Attachment = z.strictObject({
  name: z.string().trim().min(1).max(200),
  mediaType: z
    .string()
    .regex(
      /^(image\/(png|jpeg|gif|webp)|application\/(pdf|json)|text\/[a-z0-9.+-]+)$/,
      'is not an image, a PDF or a text',
    ),
  dataBase64: z.base64().min(1),
});
export type Attachment = z.infer<typeof Attachment>;

/** A follow-up that waits for its moment. */
export const QueuedMessage = z.object({
  stageId: StageId,
  messageId: MessageId,
  text: z.string(),
  by: z.string().nullable(),
  createdAt: z.iso.datetime(),
  /** Place in the queue, ascending; not contiguous. */
  position: z.int(),
  attachments: z.array(AttachmentInfo).default([]),
  /** A person chose to have Claude Code run it as a command (`/compact`, say). */
  isCommand: z.boolean().default(false),
});
export type QueuedMessage = z.infer<typeof QueuedMessage>;

const MessageText = z
  .string()
  .max(200_000, 'is longer than 200,000 characters; put the rest into a file and attach it')
  .refine((text) => text.trim() !== '', 'is empty; write something to send');

export const MessageBody = z.strictObject({
  message: MessageText,
  /** Chosen by the sender: the same message sent again, because its reply was lost, is not added again. */
  messageId: z.uuid().pipe(MessageId).optional(),
  mode: MessageMode.optional(),
  attachments: z.array(Attachment).max(20).optional(),
  /** Files that are kept, by their ids: they go along and are no longer kept. One that was replaced may have come with files of both kinds. */
  files: z.array(z.uuid()).max(40).optional(),
  /** Run a leading `/` as a command of Claude Code instead of sending it as text. */
  isCommand: z.boolean().optional(),
});
export type MessageBody = z.infer<typeof MessageBody>;

/** What Claude is told when a person lets a session go on whose last turn did not end well. */
export const CONTINUE_MESSAGE = 'Continue where you left off.';

/** Changes a row that waits: its text, its place (0 is the next to go), or both. */
export const MessagePatch = z
  .strictObject({ message: MessageText.optional(), place: z.int().nonnegative().optional() })
  .refine((patch) => patch.message !== undefined || patch.place !== undefined, 'needs a message or a place');
export type MessagePatch = z.infer<typeof MessagePatch>;

/** `sent`: on its way into the living process. `queued`: a row that waits. `resumed`: the ended session is started again with it. */
export const SendMessageReply = z.object({
  status: z.enum(['sent', 'queued', 'resumed']),
  messageId: MessageId,
  /** The stage was done, and is not any more. */
  reopened: z.literal(true).optional(),
  /** The texts of the rows that `replace` took away; they are kept among the drafts (`replaced:...`), with their files. */
  replaced: z.array(z.string()).optional(),
});
export type SendMessageReply = z.infer<typeof SendMessageReply>;
