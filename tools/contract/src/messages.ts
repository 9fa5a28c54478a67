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

/** The longest message, if JSON escapes each of its characters with six. */
const MAX_CHARACTERS = 1_300_000;

/**
 * Unsent input of a person, stored by the server so that it survives a reload and a change of device. `key` says where it
 * belongs: `message` for the stage's message box (`MessageDraft`), `files` for the files of that message (`AttachedFile[]`, which only the
 * server writes), `replaced:<message id>` for a message that another one replaced in the queue (`ReplacedMessage`), or
 * the id of a request.
 */
export const Draft = z.object({
  stageId: StageId,
  key: z.string().min(1).max(200),
  /** The form decides its shape; null removes the draft. */
  value: z
    .unknown()
    .refine((value) => JSON.stringify(value ?? null).length <= MAX_CHARACTERS, 'is too long for a draft'),
  updatedAt: z.iso.datetime(),
  /** The tab that wrote it, which ignores its own draft. */
  writer: z.string().max(100).nullable(),
});
export type Draft = z.infer<typeof Draft>;

export const MESSAGE_KEY = 'message';

/**
 * The text of a message box, with the id that its message will have. The server removes the draft in the transaction that
 * takes the message, and stores none for a message that it has: so a text that was sent is no draft again, on any device.
 */
export const MessageDraft = z.object({ text: z.string(), messageId: z.uuid().pipe(MessageId) });
export type MessageDraft = z.infer<typeof MessageDraft>;

export const FILES_KEY = 'files';

export const REPLACED_PREFIX = 'replaced:';

/** A queued message that another one replaced. It is kept with its files until it is sent or discarded. */
export const ReplacedMessage = z.object({
  text: z.string(),
  isCommand: z.boolean(),
  /** Its place in the queue, relative to the other messages. */
  position: z.int(),
  files: z.array(AttachedFile),
});
export type ReplacedMessage = z.infer<typeof ReplacedMessage>;

const MAX_FILES = 20;
/** For all files together: a message has 25 MB, and three bytes of a file take four of them (Base64). */
const MAX_MEGABYTES = 18;

/** Returns why these files cannot be added to the stored ones, in words for a person; null if they can. */
export function filesProblem(saved: readonly { size: number }[], more: readonly { size: number }[]): string | null {
  const all = [...saved, ...more];
  if (all.length > MAX_FILES) return `A message can take ${MAX_FILES} files at most; these would be ${all.length}.`;
  const megabytes = all.reduce((sum, file) => sum + file.size, 0) / 1_000_000;
  if (megabytes <= MAX_MEGABYTES) return null;
  return `A message can take ${MAX_MEGABYTES} MB of files at most; these would be ${Math.ceil(megabytes)} MB.`;
}
