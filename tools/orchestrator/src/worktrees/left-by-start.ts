import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ProjectId, StageId, Worktree } from '@callboard/contract';
import type { KeyedMutex } from '../lib/keyed-mutex.ts';
import { pathExists } from '../lib/path-exists.ts';
import type { Git } from './git/git.ts';
import { listWorktrees, removeIncomplete, statusIn } from './worktree-list.ts';

/** A stage whose start was cut off, and the repository in which it was to work. */
export interface CutOffStart {
  repository: string;
  projectId: ProjectId;
  stageId: StageId;
}

export interface AbandonedWorktrees {
  /**
   * Returns the worktrees under the names that a start would choose for the stage, also those that the stage knows. Removes one
   * that git had not completed: nobody has worked in it. A repository that is gone has none.
   * @throws OperationalError `worktree_failed`
   */
  findAbandonedWorktrees(start: CutOffStart): Promise<Worktree[]>;
}

export const findAbandonedWorktrees = ({
  git,
  dataDir,
  makings,
}: {
  git: Git;
  dataDir: string;
  makings: KeyedMutex;
}) => ({
  findAbandonedWorktrees: (start: CutOffStart) => makings(start.repository, () => findLeft(git, dataDir, start)),
});

async function findLeft(
  git: Git,
  dataDir: string,
  { repository, projectId, stageId }: CutOffStart,
): Promise<Worktree[]> {
  const folder = await realpath(join(dataDir, 'worktrees', projectId)).catch(() => null);
  if (folder === null || !(await pathExists(repository))) return [];
  const entries = await listWorktrees(git, repository);
  const found: Worktree[] = [];
  for (const lines of entries) {
    const path = fieldOf(lines, 'worktree');
    if (path === null || dirname(path) !== folder || !isNameOf(stageId, basename(path))) continue;
    const [branch, head] = [fieldOf(lines, 'branch'), fieldOf(lines, 'HEAD')];
    if (statusIn(entries, path) === 'incomplete') await removeIncomplete(git, repository, path);
    else if (branch !== null && head !== null && (await pathExists(path)))
      found.push({ path, branch: branch.replace('refs/heads/', ''), base: head });
  }
  return found;
}

/** Returns the value of a line of `git worktree list --porcelain`; null if there is none. */
const fieldOf = (lines: readonly string[], key: string): string | null =>
  lines.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1) ?? null;

const isNameOf = (stageId: StageId, name: string): boolean =>
  name === stageId || (name.startsWith(`${stageId}-`) && /^\d+$/.test(name.slice(stageId.length + 1)));
