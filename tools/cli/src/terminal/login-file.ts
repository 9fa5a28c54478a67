import { chmod, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeDiskError } from '@callboard/runtime/disk-errors';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { terminalLoginFile } from '@callboard/runtime/terminal-login';
import { z } from 'zod';
import type { Platform } from '../edges.ts';
import { CliError } from '../errors.ts';

/** What a terminal needs to use one Callboard. */
const TerminalLogin = z.object({
  /** The data directory of that Callboard. */
  dataDir: z.string(),
  /** The origin of its API. */
  address: z.url(),
  token: z.string().min(1),
});
export type TerminalLogin = z.infer<typeof TerminalLogin>;

const LoginFile = z.object({ logins: z.array(TerminalLogin) });

type Location = Pick<Platform, 'env' | 'home'>;

/** Returns the file in which the logins of this account are kept. */
export const loginFile = ({ env, home }: Location): string => terminalLoginFile(env, home);

/**
 * Returns the login for the Callboard on a data directory; null if there is none.
 * @throws CliError if the file cannot be used, and if others may read it
 */
export async function readLogin(location: Location, dataDir: string): Promise<TerminalLogin | null> {
  return (await readAll(loginFile(location))).find((login) => login.dataDir === dataDir) ?? null;
}

/**
 * Keeps a login, in place of an older one for the same Callboard.
 * @throws CliError if the file cannot be written
 */
export async function saveLogin(location: Location, login: TerminalLogin): Promise<void> {
  const file = loginFile(location);
  const others = (await readAll(file)).filter(({ dataDir }) => dataDir !== login.dataDir);
  await writeAll(file, [...others, login]);
}

/** Forgets the login for the Callboard on a data directory; removes the file with the last one. @throws CliError */
export async function forgetLogin(location: Location, dataDir: string): Promise<void> {
  const file = loginFile(location);
  await writeAll(
    file,
    (await readAll(file)).filter((login) => login.dataDir !== dataDir),
  );
}

async function readAll(file: string): Promise<TerminalLogin[]> {
  const text = await readOwn(file);
  if (text === null) return [];
  try {
    return LoginFile.parse(JSON.parse(text)).logins;
  } catch {
    throw new CliError(`${file} is damaged. Remove it, then log in again: npx callboard login`);
  }
}

/** Looks at the very file that it then reads. */
async function readOwn(file: string): Promise<string | null> {
  try {
    await using handle = await open(file, 'r');
    const { mode, uid } = await handle.stat();
    const own = process.geteuid?.();
    if (own !== undefined && (uid !== own || (mode & 0o077) !== 0)) throw notPrivate(file, uid === own);
    return await handle.readFile('utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error instanceof CliError ? error : new CliError(`${file} cannot be read: ${messageOf(error)}.`);
  }
}

const notPrivate = (file: string, isOwn: boolean): CliError =>
  new CliError(
    isOwn
      ? `other users may read ${file}, so its token may be known. Remove the file, revoke "Terminal on ..." in the list of logins on the board, and log in again: npx callboard login`
      : `${file} belongs to another user, so it is not used. Remove it, then log in again: npx callboard login`,
  );

/** Readers see either the old file or the new one. */
async function writeAll(file: string, logins: readonly TerminalLogin[]): Promise<void> {
  const part = `${file}.${process.pid}.part`;
  try {
    if (logins.length === 0) {
      await rm(file, { force: true });
      return;
    }
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await chmod(dirname(file), 0o700);
    await rm(part, { force: true });
    {
      await using handle = await open(part, 'wx', 0o600);
      await handle.writeFile(`${JSON.stringify({ logins } satisfies { logins: readonly TerminalLogin[] }, null, 2)}\n`);
      await handle.sync();
    }
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw new CliError(`${file} cannot be written: ${describeDiskError(error) ?? messageOf(error)}.`);
  }
}
