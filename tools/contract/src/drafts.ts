import { z } from 'zod';
import { MessageId, StageId } from './ids.ts';
import { AttachedFile } from './messages.ts';

/** The longest message, if JSON escapes each of its characters with six. */
const MAX_CHARACTERS = 1_300_000;

/**
 * Unsent input of a person, stored by the server so that it survives a reload and a change of device. `key` says where it
 * belongs: `message` for the stage's message box (`MessageDraft`), `files` for the files of that message (`DraftFile[]`, which only the
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

/** A file for the next message. The server keeps it until it is sent or removed. */
export const DraftFile = AttachedFile;
export type DraftFile = z.infer<typeof DraftFile>;

export const REPLACED_PREFIX = 'replaced:';

/** A queued message that another one replaced. It is kept with its files until it is sent or discarded. */
export const ReplacedMessage = z.object({
  text: z.string(),
  isCommand: z.boolean(),
  /** Its place in the queue, relative to the other messages. */
  position: z.int(),
  files: z.array(DraftFile),
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
