import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '@callboard/runtime/errors';
import { identify } from '@callboard/runtime/process-identity';
import { z } from 'zod';
import { parseJson } from '../../lib/parse-json.ts';
import { COMMAND_MARKER, LAUNCH_MARKER } from '../processes/marked-processes.ts';
import { argumentsOf, environmentOf, listPids } from '../processes/process-table.ts';
import { configFolder } from '../user-settings.ts';

/** What each running Claude Code writes about itself into `sessions/<pid>.json`, and removes when it ends in order (seen with 2.1.330). */
const Running = z.object({
  pid: z.int().positive(),
  sessionId: z.string(),
  procStart: z.string(),
  cwd: z.string().nullish(),
});

type RunningClaude = Pick<z.infer<typeof Running>, 'pid' | 'sessionId' | 'cwd'>;

/**
 * Returns the conversations that a living Claude Code of this account has open, by id, with its process.
 * @param env the environment that Claude Code gets
 * @throws a system error, if the folder exists and cannot be read
 */
export async function openConversations(env: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, number>> {
  return new Map((await runningClaudes(env)).map(({ sessionId, pid }) => [sessionId, pid]));
}

async function runningClaudes(env: Readonly<Record<string, string>>): Promise<RunningClaude[]> {
  const folder = join(configFolder(env), 'sessions');
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
    return [];
  });
  const running: RunningClaude[] = [];
  for (const name of names) {
    if (!/^\d+\.json$/.test(name)) continue;
    const text = await readFile(join(folder, name), 'utf8').catch(() => ''); // it ended meanwhile
    const reported = Running.safeParse(parseJson(text)).data;
    // A killed process leaves its file, and another one may have its number by now.
    if (reported !== undefined && (await identify(reported.pid))?.startTime === reported.procStart)
      running.push(reported);
  }
  return running;
}

/**
 * Returns a living Claude Code, not started by Callboard, that may write a conversation: one that says that it has it open or works
 * in its folder, or whose command line resumes it. Null if none was found. A copy (`--fork-session`) leaves the original alone.
 * @param env the environment that Claude Code gets
 * @param folder where the conversation was held, without symbolic links
 * @throws a system error, if it cannot be found out
 */
export async function foreignClaude(
  env: Readonly<Record<string, string>>,
  { conversationId, folder }: { conversationId: string; folder: string },
): Promise<number | null> {
  const isThere = ({ sessionId, cwd }: RunningClaude) =>
    sessionId === conversationId || cwd === folder || cwd?.startsWith(`${folder}/`) === true;
  for (const { pid } of (await runningClaudes(env)).filter(isThere)) if (!(await isOurs(pid))) return pid;
  // It tells about itself a moment after its start, and an old release not at all.
  for (const pid of await listPids()) {
    const words = await argumentsOf(pid);
    const resumes = words.includes(conversationId) || words.some((word) => word.endsWith(`=${conversationId}`));
    if (resumes && !words.includes('--fork-session') && !(await isOurs(pid))) return pid;
  }
  return null;
}

const OURS = [`${LAUNCH_MARKER}=`, `${COMMAND_MARKER}=`];

/** Whether Callboard started a process. */
const isOurs = async (pid: number): Promise<boolean> =>
  (await environmentOf(pid))?.some((entry) => OURS.some((marker) => entry.startsWith(marker))) === true;
