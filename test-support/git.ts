import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const IDENTITY = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'];

/** Runs git as a test author. Resolves with its output, trimmed. */
export async function git(cwd: string, ...args: string[]): Promise<string> {
  return (await run('git', [...IDENTITY, ...args], { cwd })).stdout.trim();
}

/** Commits everything in the working tree. */
export async function commitAll(repo: string, message = 'More'): Promise<void> {
  await git(repo, 'add', '--all');
  await git(repo, 'commit', '--quiet', '-m', message);
}

/**
 * Creates a git repository with a configured author, so that merges work.
 * @param files go into its first commit; without files there is no commit
 * @returns its path
 */
export async function createRepository(
  path: string,
  files: Readonly<Record<string, string>> = { 'README.md': '# Shop\n' },
): Promise<string> {
  await mkdir(path, { recursive: true });
  await git(path, 'init', '--quiet', '--initial-branch=main');
  await git(path, 'config', 'user.name', 'Test');
  await git(path, 'config', 'user.email', 'test@example.org');
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  if (Object.keys(files).length > 0) await commitAll(path, 'First commit');
  return path;
}
