import { lstatSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '@callboard/runtime/errors';
import { PLACEHOLDERS } from '../agent/sandbox-placeholders.ts';
import { locateCheckout } from './git/locate-checkout.ts';

/** The part of git that is used here. */
interface AskGit {
  must(cwd: string, args: readonly string[]): Promise<string>;
}

/**
 * Outside the sandbox, a placeholder is the mount point: an empty file that not even its owner may write, which nobody creates
 * by hand. It exists while the command runs, also in the background, and stays for ever if the sandbox was killed.
 */
const WRITE_BITS = 0o222;

/** Synchronous, because there are many: the kernel answers in a tenth of the time that a thread takes. */
function isPlaceholder(path: string): boolean {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.isFile() === true && found.size === 0 && (found.mode & WRITE_BITS) === 0;
  } catch {
    return false; // we may not read it
  }
}

/** Returns the sandbox's mount points at the top of a checkout, as relative paths. They are nobody's work. */
export const placeholdersIn = (checkout: string): string[] =>
  PLACEHOLDERS.filter((name) => isPlaceholder(join(checkout, name)));

/**
 * Removes mount points that a killed sandbox left at the top of a checkout; tracked files stay. Call it only while the session
 * has no process: a removed mount point no longer protects anything. @throws OperationalError `worktree_failed`; a system error
 */
export async function removePlaceholders(git: AskGit, checkout: string): Promise<void> {
  const found = placeholdersIn(checkout);
  if (found.length === 0) return;
  const tracked = new Set((await git.must(checkout, ['ls-files', '-z', '--', ...found])).split('\0'));
  for (const name of found) if (!tracked.has(name)) await remove(join(checkout, name));
}

/**
 * Removes the lock that a killed sandbox left on a repository's configuration: it breaks `git config` and `git push -u` in every
 * checkout. Git's own lock is writable, and stays.
 * @throws a system error
 */
export async function removeConfigLock(checkout: string): Promise<void> {
  const place = locateCheckout(checkout);
  if (place === null) return;
  const lock = join(place.commonDir, 'config.lock');
  if (isPlaceholder(lock)) await remove(lock);
}

async function remove(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
  });
}
