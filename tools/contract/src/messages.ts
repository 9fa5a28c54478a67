import { z } from 'zod';
import { MessageId, StageId } from './ids.ts';

/**
 * What to do with a message while Claude works: `append` it to the queue, `replace` all queued messages, `steer` it into the
 * running turn, or interrupt the turn and send it `now`.
 */
export const MessageMode = z.enum(['append', 'replace', 'steer', 'now']);
export type MessageMode = z.infer<typeof MessageMode>;

/** An image or text file attached to a message, without its content. */
export const AttachmentInfo = z.object({ name: z.string(), mediaType: z.string() });
export type AttachmentInfo = z.infer<typeof AttachmentInfo>;

/** A file that the server keeps, without its content. */
export const AttachedFile = AttachmentInfo.extend({ fileId: z.uuid(), size: z.int().nonnegative() });
export type AttachedFile = z.infer<typeof AttachedFile>;

/** A file that the API accepts: an image, a PDF document or text. */
export const Attachment = z.strictObject({
  name: z.string().trim().min(1).max(200),
  mediaType: z
    .string()
    .regex(
      /^(image\/(png|jpeg|gif|webp)|application\/(pdf|json)|text\/[a-z0-9.+-]+)$/,
      'must be an image, a PDF or text',
    ),
  dataBase64: z.base64().min(1),
});
export type Attachment = z.infer<typeof Attachment>;

/** A follow-up message that waits in the queue. */
export const QueuedMessage = z.object({
  stageId: StageId,
  messageId: MessageId,
  text: z.string(),
  by: z.string().nullable(),
  createdAt: z.iso.datetime(),
  /** Position in the queue, ascending; not contiguous. */
  position: z.int(),
  attachments: z.array(AttachmentInfo).default([]),
  /** Claude Code runs it as a command (`/compact`, for example). */
  isCommand: z.boolean().default(false),
});
export type QueuedMessage = z.infer<typeof QueuedMessage>;

const MessageText = z
  .string()
  .max(200_000, 'is longer than 200,000 characters; put the rest into a file and attach it')
  .refine((text) => text.trim() !== '', 'is empty; write something to send');

export const MessageBody = z.strictObject({
  message: MessageText,
  /** Chosen by the client, so that a message that is sent again after a lost reply is added only once. */
  messageId: z.uuid().pipe(MessageId).optional(),
  mode: MessageMode.optional(),
  attachments: z.array(Attachment).max(20).optional(),
  /** Ids of uploaded files, which are attached and then removed from the drafts. A replaced message may have files of both kinds. */
  files: z.array(z.uuid()).max(40).optional(),
  /** Run a leading `/` as a command of Claude Code instead of sending it as text. */
  isCommand: z.boolean().optional(),
});
export type MessageBody = z.infer<typeof MessageBody>;

/** The message to Claude if a person continues a session whose last turn failed or was interrupted. */
export const CONTINUE_MESSAGE = 'Continue where you left off.';

/** Changes a queued message: its text, its place (0 is sent next), or both. */
export const MessagePatch = z
  .strictObject({ message: MessageText.optional(), place: z.int().nonnegative().optional() })
  .refine((patch) => patch.message !== undefined || patch.place !== undefined, 'needs a message or a place');
export type MessagePatch = z.infer<typeof MessagePatch>;

/** `sent`: on its way to the running process. `queued`: waiting in the queue. `resumed`: the ended session is restarted with it. */
export const SendMessageReply = z.object({
  status: z.enum(['sent', 'queued', 'resumed']),
  messageId: MessageId,
  /** The stage was done and has been reopened. */
  reopened: z.literal(true).optional(),
  /** The texts of the messages that `replace` removed; they are kept as drafts (`replaced:...`), with their files. */
  replaced: z.array(z.string()).optional(),
});
export type SendMessageReply = z.infer<typeof SendMessageReply>;
