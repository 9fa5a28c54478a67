import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { conversationFiles } from './conversation-file.ts';

/** Where a conversation stood before a message. */
export type ConversationLocation =
  /** `at`: the last line before it; null: nothing was said before. */
  | { kind: 'found'; at: string | null }
  /** This conversation does not have the message as the beginning of a turn. */
  | { kind: 'unknown' }
  /** The CLI has summarised the conversation since: it no longer reads what was said before. */
  | { kind: 'compacted' };

const Line = z.object({
  uuid: z.string(),
  parentUuid: z.string().nullish(),
  type: z.string(),
  subtype: z.string().optional(),
  isSidechain: z.boolean().optional(),
});

/**
 * Returns where a conversation stood before a message: the line that `--resume-session-at` takes (seen with 2.1.330: only a line
 * of a person or of Claude; others stand between them). Reads the record line by line.
 * @param env the environment that Claude Code gets
 * @throws when an existing record cannot be read
 */
export async function positionBefore(
  env: Readonly<Record<string, string>>,
  conversationId: string,
  messageId: string,
): Promise<ConversationLocation> {
  for (const file of await conversationFiles(env, conversationId)) {
    const place = await positionIn(file, messageId);
    if (place.kind !== 'unknown') return place;
  }
  return { kind: 'unknown' };
}

async function positionIn(file: string, messageId: string): Promise<ConversationLocation> {
  const parents = new Map<string, { parent: string | null; isSpoken: boolean }>();
  let found: string | null | undefined;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    const line = parse(text);
    if (line === null || line.isSidechain) continue;
    if (found !== undefined) {
      if (line.type === 'system' && line.subtype === 'compact_boundary') return { kind: 'compacted' };
      continue;
    }
    const parent = line.parentUuid ?? null;
    if (line.type === 'user' && line.uuid === messageId) found = parent;
    else parents.set(line.uuid, { parent, isSpoken: line.type === 'user' || line.type === 'assistant' });
  }
  if (found === undefined) return { kind: 'unknown' };
  let at = found;
  while (at !== null && !parents.get(at)?.isSpoken) at = parents.get(at)?.parent ?? null;
  return { kind: 'found', at };
}

/** Null for a line that is cut off or that has no id. */
function parse(text: string): z.infer<typeof Line> | null {
  if (!text.includes('"uuid"')) return null;
  try {
    return Line.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
