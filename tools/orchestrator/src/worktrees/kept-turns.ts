import { createHash } from 'node:crypto';
import type { Project, StageId, Worktree } from '@callboard/contract';
import { pathExists } from '../lib/path-exists.ts';
import type { GuardedGit } from './git/git.ts';
import { type KeptWorktree, keepWorktree } from './keep-worktree.ts';
import { planRestore, type RestoreOrder, type RestorePlan, restoreFiles } from './restore-files.ts';

/** The files of worktrees between turns, as commits on hidden refs. */
export interface KeptTurns {
  /**
   * Keeps the files of a worktree under a name of the stage: see `keep`. Drops the oldest names of the stage when there are many.
   * @throws OperationalError `worktree_failed`, also when the signal aborts
   */
  keepTurn(worktree: Worktree, turn: { stageId: StageId; name: string }, signal?: AbortSignal): Promise<KeptWorktree>;
  /** Keeps a commit under a name of the stage. @throws OperationalError `worktree_failed` */
  pinTurn(project: Pick<Project, 'path'>, stageId: StageId, name: string, commit: string): Promise<void>;
  /** Drops one name of a stage, or all of them. @throws OperationalError `worktree_failed` */
  dropTurns(project: Pick<Project, 'path'>, stageId: StageId, name?: string): Promise<void>;
  /**
   * Returns what `restore` would change now. Changes nothing.
   * @throws OperationalError `worktree_failed`, also if the repository no longer has the target
   */
  planRestore(worktree: Worktree, order: RestoreOrder): Promise<RestorePlan>;
  /**
   * Sets the files of a worktree to those of a commit or tree. What is in no snapshot is not touched; the index, the branch and
   * its commits stay. Repeating it is harmless. Returns what it changed.
   * @throws OperationalError `worktree_failed`; some files may be set back then
   */
  restore(worktree: Worktree, order: RestoreOrder): Promise<RestorePlan>;
  /** Returns how many commits the worktree has since one. @throws OperationalError `worktree_failed` */
  commitsSince(worktree: Worktree, commit: string): Promise<number>;
  /** Returns the full id of a revision. @throws OperationalError `worktree_failed` */
  requireCommit(worktree: Worktree, revision: string): Promise<string>;
}

/** How many names of a stage are kept; the store keeps fewer marks. */
const MOST = 150;

export function keptTurns(git: GuardedGit, dataDir: string): KeptTurns {
  /** Stages of another Callboard in the same repository may have the same ids. */
  const own = createHash('sha256').update(dataDir).digest('hex').slice(0, 8);
  const folderOf = (stageId: StageId) => `refs/callboard/turns/${stageId}`;
  const refOf = (stageId: StageId, name: string) => `${folderOf(stageId)}/${own}-${name.replaceAll(':', '-')}`;

  async function list(path: string, stageId: StageId): Promise<string[]> {
    const format = ['--format=%(refname)', '--sort=committerdate', `${folderOf(stageId)}/${own}-*`];
    return (await git.must(path, ['for-each-ref', ...format])).split('\n').filter((ref) => ref !== '');
  }

  async function drop(path: string, refs: readonly string[]): Promise<void> {
    for (const ref of refs) await git.must(path, ['update-ref', '-d', ref]);
  }

  return {
    async keepTurn(worktree, { stageId, name }, signal) {
      const kept = await keepWorktree(signal === undefined ? git : git.until(signal), worktree.path, {
        ref: refOf(stageId, name),
        message: `${stageId}: the files between two turns`,
      });
      const all = await list(worktree.path, stageId);
      await drop(worktree.path, all.slice(0, Math.max(0, all.length - MOST)));
      return kept;
    },
    pinTurn: async ({ path }, stageId, name, commit) =>
      void (await git.must(path, ['update-ref', refOf(stageId, name), commit])),
    async dropTurns({ path }, stageId, name) {
      if (!(await pathExists(path))) return; // they are gone with the repository
      await drop(path, name === undefined ? await list(path, stageId) : [refOf(stageId, name)]);
    },
    planRestore: (worktree, order) => planRestore(git, worktree, order),
    restore: (worktree, order) => restoreFiles(git, worktree, order),
    commitsSince: async ({ path }, commit) => Number(await git.must(path, ['rev-list', '--count', `${commit}..HEAD`])),
    requireCommit: ({ path }, revision) => git.must(path, ['rev-parse', '--verify', `${revision}^{commit}`]),
  };
}
