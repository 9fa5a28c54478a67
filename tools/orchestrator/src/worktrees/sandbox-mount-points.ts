import { lstatSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { PLACEHOLDERS } from '../agent/sandbox-placeholders.ts';
import { systemCode } from '../lib/errors.ts';
import { locateCheckout } from './git/locate-checkout.ts';

/** What is needed of git here. */
interface AskGit {
  must(cwd: string, args: readonly string[]): Promise<string>;
}

/**
 * As seen from outside, a placeholder is a mount point: an empty file that not even its owner may write, which nobody who works on
 * a project makes. It is there while the command runs, in the background too, and for ever where the sandbox was killed.
 */
const WRITE_BITS = 0o222;

/** Synchronous, as there are many of them: the kernel answers in a tenth of what asking a thread costs. */
function isPlaceholder(path: string): boolean {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.isFile() === true && found.size === 0 && (found.mode & WRITE_BITS) === 0;
  } catch {
    return false; // it is not for us to read
  }
}

/** The mount points of a sandbox at the top of a checkout, relative to it. They are no work of anybody. */
export const placeholdersIn = (checkout: string): string[] =>
  PLACEHOLDERS.filter((name) => isPlaceholder(join(checkout, name)));

/**
 * Removes what a killed sandbox left at the top of a checkout; files that git knows stay. For when no process of the session
 * lives: a mount point that is removed protects nothing any more. @throws OperationalError `worktree_failed`; a system error
 */
export async function removePlaceholders(git: AskGit, checkout: string): Promise<void> {
  const found = placeholdersIn(checkout);
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
