import { z } from 'zod';
import { MessageId, StageId } from './ids.ts';

/**
 * What to do with a message while Claude works: `append` a row, `replace` all undelivered rows, `steer` it into the
 * running turn, or interrupt and send it `now`.
 */
export const MessageMode = z.enum(['append', 'replace', 'steer', 'now']);
export type MessageMode = z.infer<typeof MessageMode>;

/** A follow-up that waits for its moment. */
export const QueuedMessage = z.object({
  stageId: StageId,
  messageId: MessageId,
  text: z.string(),
  by: z.string().nullable(),
  createdAt: z.iso.datetime(),
  /** Place in the queue, ascending; not contiguous. */
  position: z.int(),
});
export type QueuedMessage = z.infer<typeof QueuedMessage>;

const MessageText = z
  .string()
  .max(200_000)
  .refine((text) => text.trim() !== '', 'is empty; write something to send');

export const MessageBody = z.strictObject({ message: MessageText, mode: MessageMode.optional() });
export type MessageBody = z.infer<typeof MessageBody>;

export const MessagePatch = z.strictObject({ message: MessageText });
export type MessagePatch = z.infer<typeof MessagePatch>;

/** `sent`: on its way into the living process. `queued`: a row that waits. `resumed`: the ended session is started again with it. */
export const SendMessageReply = z.object({
  status: z.enum(['sent', 'queued', 'resumed']),
  messageId: MessageId,
  /** The texts of the rows that `replace` took away. */
  replaced: z.array(z.string()).optional(),
});
export type SendMessageReply = z.infer<typeof SendMessageReply>;
