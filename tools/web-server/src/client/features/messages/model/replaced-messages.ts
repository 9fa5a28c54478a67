import { type Draft, MessageId, REPLACED_PREFIX, ReplacedMessage } from '@callboard/contract';
import { z } from 'zod';

/** A replaced message, with the id under which it can still be sent. */
export interface StoredReplacedMessage extends ReplacedMessage {
  messageId: MessageId;
  /** The key of the draft it is stored as. */
  key: string;
}

const Id = z.uuid().pipe(MessageId);

/** The replaced messages that were neither sent nor discarded, in their queue order. */
export const replacedMessages = (drafts: readonly Draft[]): StoredReplacedMessage[] =>
  drafts
    .filter(({ key }) => key.startsWith(REPLACED_PREFIX))
    .flatMap(({ key, value }) => {
      const messageId = Id.safeParse(key.slice(REPLACED_PREFIX.length));
      const message = ReplacedMessage.safeParse(value);
      return messageId.success && message.success ? [{ ...message.data, messageId: messageId.data, key }] : [];
    })
    .sort((a, b) => a.position - b.position);
