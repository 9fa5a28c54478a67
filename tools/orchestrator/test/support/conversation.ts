import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Kit } from './kit.ts';

/** Returns the file in which `claude` keeps the stage's conversation. */
export async function conversationFile({ client, env }: Kit, stageId: string): Promise<string> {
  const { session } = await client.command('get_session', { stageId });
  const pattern = join(env.HOME ?? '', '.claude', 'projects', '*', `${session.sessionId}.jsonl`);
  for await (const file of glob(pattern)) return file;
  throw new Error(`no file ${pattern}`);
}

/** Waits until the conversation contains the text: `claude` writes it a moment after reporting it, and a SIGKILL in between loses it. */
export async function untilWritten(kit: Kit, stageId: string, text: string): Promise<void> {
  const read = () => conversationFile(kit, stageId).then((file) => readFile(file, 'utf8'));
  await expect.poll(() => read().catch(() => '')).toContain(text);
}
