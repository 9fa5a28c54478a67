import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { conversationFile } from './conversation-file.ts';

/** What can be told of a conversation's record without understanding it. */
export interface ConversationCondition {
  bytes: number;
  /** Lines that are cut off: Claude Code skips those when it resumes, without a word (seen with 2.1.330). */
  brokenLines: number;
}

/** Returns the size of a conversation's record; null if there is none, or more than one. @param env the environment that Claude Code gets */
export async function conversationBytes(
  env: Readonly<Record<string, string>>,
  conversationId: string,
): Promise<number | null> {
  const file = await conversationFile(env, conversationId);
  return file === null ? null : (await stat(file)).size;
}

/**
 * Looks for cut-off lines in a conversation's record as it is now. What is appended meanwhile is not read.
 * @returns null if there is no record, or more than one
 * @throws a system error if the record cannot be read
 */
export async function conversationCondition(
  env: Readonly<Record<string, string>>,
  conversationId: string,
): Promise<ConversationCondition | null> {
  const file = await conversationFile(env, conversationId);
  if (file === null) return null;
  const { size: bytes } = await stat(file);
  if (bytes === 0) return { bytes, brokenLines: 0 };
  let brokenLines = 0;
  const input = createReadStream(file, { end: bytes - 1 });
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line !== '' && !(line.startsWith('{') && line.endsWith('}'))) brokenLines++;
  }
  return { bytes, brokenLines };
}
