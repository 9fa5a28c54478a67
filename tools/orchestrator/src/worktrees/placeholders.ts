import { lstat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { PLACEHOLDERS } from '../domain/placeholders.ts';
import { systemCode } from '../lib/errors.ts';
import { locate } from './git-place.ts';

/** What is needed of git here. */
interface AskGit {
  must(cwd: string, args: readonly string[]): Promise<string>;
}

/**
 * As seen from outside, a placeholder is a mount point: an empty file that not even its owner may write, which nobody who works on
 * a project makes. It is there while the command runs, in the background too, and for ever where the sandbox was killed.
 */
const WRITE_BITS = 0o222;

async function isPlaceholder(path: string): Promise<boolean> {
  try {
    const found = await lstat(path);
    return found.isFile() && found.size === 0 && (found.mode & WRITE_BITS) === 0;
  } catch {
    return false; // it is not there, or is not for us to read
  }
}

/** The mount points of a sandbox at the top of a checkout, relative to it. They are no work of anybody. */
export async function placeholdersIn(checkout: string): Promise<string[]> {
  const found = await Promise.all(
    PLACEHOLDERS.map(async (name) => ((await isPlaceholder(join(checkout, name))) ? [name] : [])),
  );
  return found.flat();
}

/**
 * Removes what a killed sandbox left at the top of a checkout; files that git knows stay. For when no process of the session
 * lives: a mount point that is removed protects nothing any more. @throws OperationalError `worktree_failed`; a system error
 */
export async function removePlaceholders(git: AskGit, checkout: string): Promise<void> {
  const found = await placeholdersIn(checkout);
  if (found.length === 0) return;
  const tracked = new Set((await git.must(checkout, ['ls-files', '-z', '--', ...found])).split('\0'));
  for (const name of found) if (!tracked.has(name)) await remove(join(checkout, name));
}

/**
 * Removes the lock on a repository's configuration that a killed sandbox left: with it, neither `git config` nor
 * `git push -u` works in any checkout. A lock of git itself can be written, and stays.
 * @throws a system error
 */
export async function removeConfigLock(checkout: string): Promise<void> {
  const place = await locate(checkout);
  if (place === null) return;
  const lock = join(place.commonDir, 'config.lock');
  if (await isPlaceholder(lock)) await remove(lock);
}

async function remove(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
  });
}
