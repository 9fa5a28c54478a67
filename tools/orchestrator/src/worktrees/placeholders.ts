import { lstat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../lib/errors.ts';
import { locate } from './git-place.ts';

/**
 * Files that Claude Code's sandbox keeps commands from making (2.1.330). Where one of them does not exist, bubblewrap makes
 * an empty file without write permission as a mount point. It stays there while the command runs, in the background too,
 * and for ever where the sandbox was killed.
 */
const NAMES = [
  ...['.bash_profile', '.bashrc', '.gitconfig', '.gitmodules', '.idea', '.mcp.json', '.profile', '.ripgreprc'],
  ...['.vscode', '.zprofile', '.zshrc'],
  ...[
    ...['.cc-writes', 'agents', 'commands', 'hooks', 'launch.json', 'loop.md', 'output-styles', 'routines', 'rules'],
    ...['scheduled_tasks.json', 'settings.json', 'settings.local.json', 'skills', 'workflows'],
  ].map((name) => `.claude/${name}`),
];

/** What is needed of git here. */
interface AskGit {
  must(cwd: string, args: readonly string[]): Promise<string>;
}

/** Nobody who works on a project makes an empty file that not even its owner may write. */
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
    NAMES.map(async (name) => ((await isPlaceholder(join(checkout, name))) ? [name] : [])),
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
