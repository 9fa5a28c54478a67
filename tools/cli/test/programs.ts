import { execFile } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The real `claude` of this repository. */
export const REAL_CLAUDE = fileURLToPath(new URL('../../../node_modules/.bin/claude', import.meta.url));

/** Where the programs of the system are. */
export const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Puts a shell script under this name into a folder; resolves with its path. */
export async function putProgram(folder: string, name: string, script: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

const run = promisify(execFile);
const AUTHOR = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'];

/** Makes a git repository; the files are in its first commit, and without any there is none. */
export async function makeRepository(path: string, files: Record<string, string> = {}): Promise<string> {
  await mkdir(path, { recursive: true });
  const git = (...args: string[]) => run('git', [...AUTHOR, ...args], { cwd: path });
  await git('init', '--quiet', '--initial-branch=main');
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(path, name, '..'), { recursive: true });
    await writeFile(join(path, name), text);
  }
  if (Object.keys(files).length === 0) return path;
  await git('add', '--all');
  await git('commit', '--quiet', '-m', 'First commit');
  return path;
}
