import type { Project, Worktree } from '@callboard/contract';
import type { Git } from './git/git.ts';

/** A checkout of a repository: the main one, or a worktree. */
export interface Checkout {
  path: string;
  /** The commit that it is at. */
  commit: string;
  /** Null if it is on none. */
  branch: string | null;
}

/** Looks at checkouts that people made, and takes their files over. */
export interface Checkouts {
  /** Lists the checkouts of the repository that still exist, the main one first. @throws OperationalError `worktree_failed` */
  checkouts(project: Pick<Project, 'path'>): Promise<Checkout[]>;
  /** Counts the files with uncommitted changes in a checkout, new ones included. @throws OperationalError `worktree_failed` */
  countUncommitted(path: string): Promise<number>;
  /**
   * Gives a worktree in which nobody has worked yet the files of a tree, as uncommitted changes. May be repeated.
   * @throws OperationalError `worktree_failed`
   */
  fill(worktree: Pick<Worktree, 'path'>, tree: string): Promise<void>;
  /** Removes a ref; it need not exist. @throws OperationalError `worktree_failed` */
  dropRef(project: Pick<Project, 'path'>, ref: string): Promise<void>;
}

export const checkouts = (git: Git): Checkouts => ({
  checkouts: (project) => checkoutsOf(git, project.path),
  countUncommitted: (path) => countUncommitted(git, path),
  fill: (worktree, tree) => fillWorktree(git, worktree.path, tree),
  dropRef: async (project, ref) => void (await git.must(project.path, ['update-ref', '-d', ref])),
});

async function checkoutsOf(git: Git, repository: string): Promise<Checkout[]> {
  const list = await git.must(repository, ['worktree', 'list', '--porcelain']);
  return list.split('\n\n').flatMap((entry): Checkout[] => {
    const fields = new Map(
      entry.split('\n').map((line): [string, string] => {
        const [name = '', ...rest] = line.split(' ');
        return [name, rest.join(' ')];
      }),
    );
    const [path, commit] = [fields.get('worktree'), fields.get('HEAD')];
    if (path === undefined || commit === undefined || fields.has('prunable')) return [];
    return [{ path, commit, branch: fields.get('branch')?.replace(/^refs\/heads\//, '') ?? null }];
  });
}

/** As `Checkouts.countUncommitted`. */
export async function countUncommitted(git: Git, path: string): Promise<number> {
  const list = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=all'];
  return (await git.must(path, list)).split('\0').filter((line) => line !== '').length;
}

/** Overwrites what differs. The index goes back to the commit, so that the files stand as uncommitted changes. */
export async function fillWorktree(git: Git, path: string, tree: string): Promise<void> {
  await git.must(path, ['read-tree', '--reset', '-u', tree]);
  await git.must(path, ['reset', '--mixed', '--quiet']);
}
