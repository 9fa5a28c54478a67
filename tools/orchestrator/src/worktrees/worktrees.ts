import { access, mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Project, StageId, Worktree } from '@callboard/contract';
import { execa } from 'execa';
import { OperationalError, Rejection } from '../lib/errors.ts';

export interface WorktreesParts {
  dataDir: string;
  /** The user's environment, for git. */
  env: Record<string, string>;
}

/** One worktree and branch a stage: `<data-dir>/worktrees/<project>/<stage>`, `callboard/<stage-id>`. */
export interface Worktrees {
  /**
   * The top folder of the repository that `path` lies in.
   * @throws Rejection `not_a_repository`, `no_commits`
   */
  inspect(path: string): Promise<{ root: string }>;
  /**
   * Makes the stage's worktree from the repository's current commit, or finds the one that is there.
   * @throws OperationalError `worktree_failed` with git's own words
   */
  ensure(project: Project, stageId: StageId): Promise<Worktree>;
  /** Removes a worktree that has nothing to lose. What is not committed, or not merged, stays; the answer says what. */
  removeIfSafe(project: Project, worktree: Worktree): Promise<{ removed: boolean; reason: string | null }>;
}

export function createWorktrees({ dataDir, env }: WorktreesParts): Worktrees {
  const git = (cwd: string, ...args: string[]) =>
    execa('git', args, { cwd, env, extendEnv: false, reject: false, stdin: 'ignore', timeout: 60_000 });

  async function mustGit(cwd: string, ...args: string[]): Promise<string> {
    const { failed, stdout, stderr, shortMessage } = await git(cwd, ...args);
    if (failed)
      throw new OperationalError(
        'worktree_failed',
        `git ${args[0]} ${args[1] ?? ''} failed in ${cwd}: ${stderr || shortMessage}`,
      );
    return stdout.trim();
  }

  return {
    async inspect(path) {
      const there = await access(path).then(
        () => true,
        () => false,
      );
      if (!there) throw new Rejection('not_a_repository', `There is no folder ${path}.`);
      const top = await git(path, 'rev-parse', '--show-toplevel');
      if (top.failed) {
        throw new Rejection(
          'not_a_repository',
          `${path} is not a git repository. Run "git init" there and make a first commit, or choose another folder.`,
        );
      }
      const root = await realpath(top.stdout.trim());
      const head = await git(root, 'rev-parse', '--verify', 'HEAD^{commit}');
      if (head.failed) {
        throw new Rejection(
          'no_commits',
          `The repository at ${root} has no commit yet, so no worktree can be made from it. Make a first commit.`,
        );
      }
      return { root };
    },

    async ensure(project, stageId) {
      const parent = join(dataDir, 'worktrees', project.id);
      const path = join(parent, stageId);
      const branch = `callboard/${stageId}`;
      await mkdir(parent, { recursive: true, mode: 0o700 });
      const known = await mustGit(project.path, 'worktree', 'list', '--porcelain');
      if (known.split('\n').includes(`worktree ${path}`)) {
        const base = await mustGit(project.path, 'merge-base', 'HEAD', branch);
        return { path, branch, base };
      }
      const exists = !(await git(project.path, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`)).failed;
      const base = await mustGit(project.path, 'rev-parse', 'HEAD');
      await mustGit(project.path, 'worktree', 'add', ...(exists ? [path, branch] : ['-b', branch, path, base]));
      return { path, branch, base };
    },

    async removeIfSafe(project, worktree) {
      // Without --force: git refuses to remove a worktree with changes or untracked files, and a branch that is not merged.
      const removal = await git(project.path, 'worktree', 'remove', worktree.path);
      if (removal.failed) return { removed: false, reason: removal.stderr };
      const branch = await git(project.path, 'branch', '-d', worktree.branch);
      return { removed: true, reason: branch.failed ? branch.stderr : null };
    },
  };
}
