import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runAndRead } from './run-and-read.ts';

const OPTIONS = [
  ...['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'],
  // Else a commit or merge starts one more process to see whether the repository needs tidying up: one of a test never does.
  ...['-c', 'maintenance.auto=false'],
];

/** Runs git as a test author. Resolves with its output, trimmed. */
export async function git(cwd: string, ...args: string[]): Promise<string> {
  return (await runAndRead('git', [...OPTIONS, ...args], { cwd })).trim();
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
  await appendFile(join(path, '.git', 'config'), '[user]\n\tname = Test\n\temail = test@example.org\n');
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  if (Object.keys(files).length > 0) await commitAll(path, 'First commit');
  return path;
}
