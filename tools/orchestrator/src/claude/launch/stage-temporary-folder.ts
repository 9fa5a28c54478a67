import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The folder for what Claude Code keeps for a while (the output of commands, what they write to TMPDIR), for one stage alone: commands in the
 * sandbox may write to it, and could otherwise write to those of all sessions. Its path is short, since sockets lie in it. It stays when
 * the session ends, for the next one goes on with the same conversation.
 * @param base where temporary files lie
 * @returns null where something else has that name: then Claude Code chooses
 */
export async function temporaryFolderOf(base: string, dataDir: string, stageId: string): Promise<string | null> {
  const id = createHash('sha256').update(`${dataDir}\0${stageId}`).digest('hex').slice(0, 10);
  const folder = join(base, `cb-${id}`);
  await mkdir(folder, { mode: 0o700 }).catch(() => undefined);
  const found = await lstat(folder).catch(() => null);
  const isOurs = found?.isDirectory() === true && found.uid === process.geteuid?.() && (found.mode & 0o077) === 0;
  return isOurs ? folder : null;
}

/** The variable that leads Claude Code there. */
export async function temporaryVariables(
  ...place: Parameters<typeof temporaryFolderOf>
): Promise<Record<string, string>> {
  const folder = await temporaryFolderOf(...place);
  return folder === null ? {} : { TMPDIR: folder };
}
