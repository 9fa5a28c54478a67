import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Git, GitResult } from './git.ts';

/** The object store of a repository: its format, `sha1` or `sha256`, and its folder. */
export interface ObjectStore {
  format: string;
  objects: string;
}

/** Git with access to a repository's objects only. */
export interface ObjectsOnlyGit {
  /** An empty temporary folder. */
  readonly folder: string;
  /** Never rejects because git failed; see `GitResult`. */
  try(args: readonly string[]): Promise<GitResult>;
}

/**
 * Creates an empty git directory that uses the objects of a repository. Attributes, configuration (the repository's and the
 * user's), replaced objects and grafts have no effect on a diff there: it depends on the objects alone.
 */
export async function withObjectsOnlyGit<T>(
  git: Git,
  { format, objects }: ObjectStore,
  use: (plain: ObjectsOnlyGit) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-diff-'));
  try {
    const dir = join(folder, 'git');
    for (const part of ['objects', 'refs']) await mkdir(join(dir, part), { recursive: true });
    await writeFile(join(dir, 'HEAD'), 'ref: refs/heads/none\n');
    await writeFile(join(dir, 'config'), configOf(format));
    const env = {
      GIT_DIR: dir,
      GIT_OBJECT_DIRECTORY: objects,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_ATTR_NOSYSTEM: '1',
      // Before 2.32 git ignores GIT_CONFIG_GLOBAL; the default attributes file is in the home folder as well.
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      LC_ALL: 'C',
    };
    return await use({ folder, try: (args) => git.try(folder, args, env) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const configOf = (format: string): string =>
  format === 'sha1'
    ? '[core]\n\tbare = true\n'
    : `[core]\n\tbare = true\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = ${format}\n`;
