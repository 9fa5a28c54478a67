import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { parseJson } from '../lib/parse-json.ts';

/** Where Claude Code logs what MCP servers say, in one folder for each working directory and server (2.1.330). */
function logsFolder({ HOME, XDG_CACHE_HOME }: Readonly<Record<string, string>>): string {
  const home = HOME ?? '/';
  const cache =
    process.platform === 'darwin' ? join(home, 'Library', 'Caches') : XDG_CACHE_HOME || join(home, '.cache');
  return join(cache, 'claude-cli-nodejs');
}

const asFolder = (name: string): string => name.replaceAll(/[^a-zA-Z0-9]/g, '-');

const Logged = z.object({ error: z.string().optional(), debug: z.string().optional(), sessionId: z.string() });
const STDERR = /^(?:Server stderr|stderr of the stdio server before restarting it): (.*)$/s;
/** The end of it is enough: an error comes last. */
const MAX_TEXT = 1_000;

interface ServerOfSession {
  worktree: string;
  conversationId: string;
  name: string;
}

/**
 * Returns what an MCP server of a conversation printed on its stderr when its start failed, as Claude Code logged it up to a
 * second later; null if nothing is known. Claude Code itself only says that the connection was closed.
 * @param env the environment that Claude Code gets
 */
export async function mcpText(
  env: Readonly<Record<string, string>>,
  { worktree, conversationId, name }: ServerOfSession,
): Promise<string | null> {
  const folder = join(logsFolder(env), asFolder(worktree), `mcp-logs-${asFolder(name)}`);
  const newest = (await readdir(folder).catch(() => [])).toSorted().at(-1);
  if (newest === undefined) return null;
  const text = await readFile(join(folder, newest), 'utf8').catch(() => '');
  const said = text.split('\n').flatMap((line) => {
    const { data } = line.includes('stderr') ? Logged.safeParse(parseJson(line)) : { data: undefined };
    const text = data?.sessionId === conversationId ? STDERR.exec(data.error ?? data.debug ?? '')?.[1] : undefined;
    return text ?? [];
  });
  const message = stripVTControlCharacters(said.at(-1) ?? '')
    .replaceAll(/(?![\n\t])\p{Cc}/gu, '')
    .trim();
  if (message === '') return null;
  return message.length > MAX_TEXT ? `… ${message.slice(-MAX_TEXT)}` : message;
}
