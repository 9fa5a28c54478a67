import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Creates or finds the stage's own folder for Claude Code's temporary files (the output of commands, what commands write to
 * TMPDIR). Commands in the sandbox may write to it; with a shared folder they could write to those of all sessions. The path
 * is short because sockets lie in it. The folder stays when the session ends, for the next one that resumes the conversation.
 * @param base the folder for temporary files
 * @returns null if something else has that name; Claude Code then chooses a folder
 */
export async function stageTemporaryFolder(base: string, dataDir: string, stageId: string): Promise<string | null> {
  const id = createHash('sha256').update(`${dataDir}\0${stageId}`).digest('hex').slice(0, 10);
  const folder = join(base, `cb-${id}`);
  await mkdir(folder, { mode: 0o700 }).catch(() => undefined);
  const found = await lstat(folder).catch(() => null);
  const isOurs = found?.isDirectory() === true && found.uid === process.geteuid?.() && (found.mode & 0o077) === 0;
  return isOurs ? folder : null;
}

/** The variable that makes Claude Code use that folder. */
export async function temporaryVariables(
  ...place: Parameters<typeof stageTemporaryFolder>
): Promise<Record<string, string>> {
  const folder = await stageTemporaryFolder(...place);
  return folder === null ? {} : { TMPDIR: folder };
}
