import type { Attachment } from '@callboard/contract';
import { createMessageQueue, type MessageQueue, type MessageQueueDeps } from '../../src/features/messages/messages.ts';
import type { TestSession } from './test-session.ts';

/** The message queue on a test session's store; only the given parts resume or interrupt anything. */
export const testQueue = ({ store, platform }: TestSession, deps: Partial<MessageQueueDeps> = {}): MessageQueue =>
  createMessageQueue({
    store,
    platform,
    resumeWith: async () => true,
    requireClaude: async () => undefined,
    withdrawIfGone: async () => undefined,
    endIfReplaced: async () => undefined,
    interrupt: async () => undefined,
    onInterruptFailed: () => undefined,
    confirmationMs: 10,
    ...deps,
  });

/** A text file to attach to a message. */
export const textFile = (name: string, text: string): Attachment => ({
  name,
  mediaType: 'text/plain',
  dataBase64: Buffer.from(text).toString('base64'),
});
