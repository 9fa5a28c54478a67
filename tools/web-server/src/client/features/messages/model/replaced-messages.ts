import { type Draft, MessageId, REPLACED_PREFIX, ReplacedMessage } from '@callboard/contract';
import { z } from 'zod';

/** A message that another one took the place of, under the id under which it may be sent after all. */
export interface KeptAside extends ReplacedMessage {
  messageId: MessageId;
  /** The draft that it is kept as. */
  key: string;
}

const Id = z.uuid().pipe(MessageId);

/** What was replaced and neither sent nor discarded, in the order in which it waited. */
export const keptAside = (drafts: readonly Draft[]): KeptAside[] =>
  drafts
    .filter(({ key }) => key.startsWith(REPLACED_PREFIX))
    .flatMap(({ key, value }) => {
      const messageId = Id.safeParse(key.slice(REPLACED_PREFIX.length));
      const message = ReplacedMessage.safeParse(value);
      return messageId.success && message.success ? [{ ...message.data, messageId: messageId.data, key }] : [];
    })
    .sort((a, b) => a.position - b.position);
