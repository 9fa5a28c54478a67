import { createHash } from 'node:crypto';
import type { FileDiff, Project, StageDiff, StageId, Worktree } from '@callboard/contract';
import { pathExists } from '../lib/path-exists.ts';
import { describeWorktree, type WorktreeFacts } from './describe-worktree.ts';
import { allChanges } from './diff.ts';
import type { GeneratedFiles } from './generated-files.ts';
import type { Git, GuardedGit } from './git/git.ts';
import { type SavedWorktree, saveWorktree } from './keep-worktree.ts';
import { planRestore, type RestoreOrder, type RestorePlan, restoreFiles } from './restore-files.ts';
import { takeSnapshot } from './snapshot.ts';

/** The files of worktrees between turns, as commits on hidden refs. */
export interface TurnSnapshots {
  /**
   * Keeps the files of a worktree under a name of the stage: see `keep`; ignored files are not listed. Drops the oldest names of
   * the stage when there are many.
   * @throws OperationalError `worktree_failed`, also when the signal aborts
   */
  snapshotTurn(worktree: Worktree, turn: TurnName, signal?: AbortSignal): Promise<SavedWorktree>;
  /**
   * Does what `snapshotTurn` and then `diff` do, and reads the files once.
   * @throws OperationalError `worktree_failed`, also when the signal aborts
   */
  saveChanges(
    project: Pick<Project, 'path'>,
    worktree: Worktree,
    turn: TurnName,
    signal: AbortSignal,
  ): Promise<SavedChanges>;
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

export interface TurnName {
  stageId: StageId;
  name: string;
}

export interface SavedChanges {
  /** The commit that has the files. */
  commit: string;
  diff: StageDiff;
}

/** How many names of a stage are kept; the store keeps fewer marks. */
const MAX = 150;

export function turnSnapshots(git: GuardedGit, generated: GeneratedFiles, dataDir: string): TurnSnapshots {
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

  /** The number of names of each stage, once they were counted; more than there are after some were dropped. */
  const counts = new Map<StageId, number>();

  async function dropOldest(path: string, stageId: StageId): Promise<void> {
    const count = (counts.get(stageId) ?? MAX) + 1;
    counts.set(stageId, count);
    if (count <= MAX) return;
    const all = await list(path, stageId);
    await drop(path, all.slice(0, Math.max(0, all.length - MAX)));
    counts.set(stageId, Math.min(all.length, MAX));
  }

  async function save(by: Git, { path }: Worktree, { stageId, name }: TurnName, known?: WorktreeFacts) {
    const message = `${stageId}: the files between two turns`;
    const saved = await saveWorktree(by, path, { ref: refOf(stageId, name), message, known });
    await dropOldest(path, stageId);
    return saved;
  }

  return {
    snapshotTurn: (worktree, turn, signal) => save(signal === undefined ? git : git.until(signal), worktree, turn),
    async saveChanges(project, worktree, turn, signal) {
      const until = git.until(signal);
      const about = await describeWorktree(until, worktree);
      const { commit, tree, leftOut } = await save(until, worktree, turn, about);
      // What is not kept is a change nevertheless. Stored for that, each version of a large file would take its size in the
      // person's repository for weeks.
      const large = leftOut.filter(({ reason }) => reason === 'too-large').map((one) => one.path);
      const files =
        leftOut.length === large.length
          ? { tree, unread: [] }
          : await takeSnapshot(until, worktree.path, about.index, large);
      const diff = await allChanges({ git: until, generated }, { worktree, checkout: project.path }, about, files);
      return { commit, diff: { ...diff, files: [...diff.files, ...large.map(unstored)] } };
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

/** A changed file whose content was not stored. */
const unstored = (path: string): FileDiff => ({
  path,
  oldPath: null,
  status: 'modified',
  oldMode: null,
  newMode: null,
  additions: 0,
  deletions: 0,
  isBinary: true,
  version: '',
  isGenerated: false,
});
