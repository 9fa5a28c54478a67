import { open } from 'node:fs/promises';
import { z } from 'zod';
import { conversationFiles } from './conversation-file.ts';

/** What Claude said at the end of a conversation, by Claude Code's own record. */
export interface ConversationTail {
  /** The texts of each message of the model. */
  texts: ReadonlyMap<string, ReadonlySet<string>>;
  toolUseIds: ReadonlySet<string>;
  /** False where only the end of a long record was read. */
  isWhole: boolean;
}

/** Far more than a turn; a longer one is compared from where the tail begins. */
const TAIL_BYTES = 8 * 1024 * 1024;

const Said = z.object({
  type: z.literal('assistant'),
  message: z.object({
    id: z.string(),
    content: z.array(
      z.union([
        z.object({ type: z.literal('text'), text: z.string() }),
        z.object({ type: z.literal('tool_use'), id: z.string() }),
        z.object({ type: z.string() }).transform(() => null),
      ]),
    ),
  }),
});

/** Null where there is no such record, or where it is not alone. @throws when it cannot be read */
export async function conversationTail(
  env: Readonly<Record<string, string>>,
  conversationId: string,
): Promise<ConversationTail | null> {
  const [file, ...others] = await conversationFiles(env, conversationId);
  if (file === undefined || others.length > 0) return null;
  const { text, isWhole } = await readTail(file);
  const texts = new Map<string, Set<string>>();
  const toolUseIds = new Set<string>();
  for (const line of text.split('\n')) {
    const said = line.includes('"assistant"') ? saidIn(line) : null;
    for (const block of said?.content ?? []) {
      if (said === null || block === null) continue;
      if (block.type === 'tool_use') toolUseIds.add(block.id);
      else texts.set(said.id, (texts.get(said.id) ?? new Set()).add(block.text));
    }
  }
  return { texts, toolUseIds, isWhole };
}

/** Null for a line of another kind, and for one that is torn. */
function saidIn(line: string): z.infer<typeof Said>['message'] | null {
  try {
    return Said.safeParse(JSON.parse(line)).data?.message ?? null;
  } catch {
    return null;
  }
}

async function readTail(path: string): Promise<{ text: string; isWhole: boolean }> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    return { text: buffer.toString('utf8', 0, bytesRead), isWhole: from === 0 };
  } finally {
    await file.close();
  }
}
