import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '@callboard/runtime/errors';
import { identify } from '@callboard/runtime/process-identity';
import { z } from 'zod';
import { parseJson } from '../../lib/parse-json.ts';
import { configFolder } from '../user-settings.ts';

/** What each running Claude Code writes about itself into `sessions/<pid>.json`, and removes when it ends in order (seen with 2.1.330). */
const Running = z.object({ pid: z.int().positive(), sessionId: z.string(), procStart: z.string() });

/**
 * Returns the conversations that a living Claude Code of this account has open, by id, with its process.
 * @param env the environment that Claude Code gets
 * @throws a system error, if the folder exists and cannot be read
 */
export async function openConversations(env: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, number>> {
  const folder = join(configFolder(env), 'sessions');
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
    return [];
  });
  const open = new Map<string, number>();
  for (const name of names) {
    if (!/^\d+\.json$/.test(name)) continue;
    const text = await readFile(join(folder, name), 'utf8').catch(() => ''); // it ended meanwhile
    const told = Running.safeParse(parseJson(text)).data;
    // A killed process leaves its file, and another one may have its number by now.
    if (told !== undefined && (await identify(told.pid))?.startTime === told.procStart)
      open.set(told.sessionId, told.pid);
  }
  return open;
}
