import type { Attachment } from '@callboard/contract';
import { createBell } from '../../src/lib/bell.ts';
import { createMessageQueue, type MessageQueue, type MessageQueueParts } from '../../src/messages/message-queue.ts';
import type { TestSession } from './test-session.ts';

/** The message queue on a test session's store; only the given parts resume or interrupt anything. */
export const testQueue = ({ store, edges }: TestSession, parts: Partial<MessageQueueParts> = {}): MessageQueue =>
  createMessageQueue({
    store,
    edges,
    outboxBell: createBell(),
    resumeWith: async () => true,
    requireClaude: async () => undefined,
    takeBackIfGone: async () => undefined,
    endIfReplaced: async () => undefined,
    interrupt: async () => undefined,
    onInterruptFailed: () => undefined,
    confirmationMs: 10,
    ...parts,
  });

/** A text file to attach to a message. */
export const textFile = (name: string, text: string): Attachment => ({
  name,
  mediaType: 'text/plain',
  dataBase64: Buffer.from(text).toString('base64'),
});
