import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runAndRead } from '../../../../test-support/run-and-read.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';

/** Folders and an environment in which git reads no configuration of the machine. */
export interface GitLab {
  /** An empty folder for the test's own files. */
  readonly folder: string;
  readonly env: Record<string, string>;
  git(cwd: string, ...args: string[]): Promise<string>;
  /** Writes a file and commits it. */
  commit(cwd: string, file: string, content: string): Promise<void>;
  /** Creates a repository with one commit. */
  repository(name: string): Promise<string>;
}

export async function createGitLab(): Promise<GitLab> {
  const folder = await temporaryFolder();
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Test',
    GIT_AUTHOR_EMAIL: 'test@example.org',
    GIT_COMMITTER_NAME: 'Test',
    GIT_COMMITTER_EMAIL: 'test@example.org',
  };
  const lab: GitLab = {
    folder,
    env,
    // Never looks whether the repository needs tidying up, for which git starts one more process.
    git: async (cwd, ...args) =>
      (await runAndRead('git', ['-c', 'maintenance.auto=false', ...args], { cwd, env })).trim(),
    async commit(cwd, file, content) {
      await writeFile(join(cwd, file), content);
      await lab.git(cwd, 'add', file);
      await lab.git(cwd, 'commit', '--quiet', '-m', `Write ${file}`);
    },
    async repository(name) {
      const path = join(folder, name);
      await mkdir(path);
      await lab.git(path, 'init', '--quiet', '--initial-branch=main');
      await lab.commit(path, 'README.md', '# Shop\n');
      return path;
    },
  };
  return lab;
}
