import { createReadStream } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { configFolder } from './config-folder.ts';

/** Where Claude Code keeps its conversations, one folder for each working directory. */
const conversationsFolder = (env: Readonly<Record<string, string>>): string => join(configFolder(env), 'projects');

/** A message that began a turn. */
const Opening = z.object({ type: z.literal('user'), uuid: z.string() });
/** A message that was folded into a running turn: its uuid is not the line's. */
const Folded = z.object({
  type: z.literal('attachment'),
  attachment: z.object({ type: z.literal('queued_command'), source_uuid: z.string() }),
});

/**
 * Which of these messages Claude Code has written into a conversation, so that a resume knows them. It has to be looked
 * up, since the CLI itself drops only those that began a turn when they are given again (seen with 2.1.330). To be asked
 * when the process has ended: it writes a moment after it has told of a message. Null: the conversation is not there.
 * @param env the environment that Claude Code is given
 * @throws when a file that is there cannot be read
 */
export async function messagesInConversation(
  env: Readonly<Record<string, string>>,
  conversationId: string,
  messageIds: readonly string[],
): Promise<ReadonlySet<string> | null> {
  const found = new Set<string>();
  if (messageIds.length === 0) return found;
  const files = await conversationFiles(env, conversationId);
  for (const file of files) {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      if (!messageIds.some((id) => line.includes(id))) continue;
      const id = messageOf(line);
      if (id !== null && messageIds.includes(id)) found.add(id);
    }
  }
  return files.length === 0 ? null : found;
}

/** Where the conversation is kept. One file at most, as a rule: it stays where the conversation was begun. */
export async function conversationFiles(
  env: Readonly<Record<string, string>>,
  conversationId: string,
): Promise<string[]> {
  const folder = conversationsFolder(env);
  const folders = await readdir(folder).catch(() => []);
  const files = folders.map((name) => join(folder, name, `${conversationId}.jsonl`));
  const there = await Promise.all(files.map(isThere));
  return files.filter((_file, index) => there[index]);
}

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** The message that a line stands for; null for a line of another kind, and for one that a kill has torn. */
function messageOf(line: string): string | null {
  try {
    const value: unknown = JSON.parse(line);
    return Opening.safeParse(value).data?.uuid ?? Folded.safeParse(value).data?.attachment.source_uuid ?? null;
  } catch {
    return null;
  }
}
