import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  BranchList,
  CommitOrder,
  DiffQuery,
  GitSettingItem,
  MergePlan,
  Project,
  Removal,
  SeenDiff,
  StageDiff,
  StageId,
  StageMerge,
  Worktree,
} from '@callboard/contract';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import { pathExists } from '../../platform/files.ts';
import { afterOtherGit, createGit, type Git } from '../../platform/git/git.ts';
import {
  type Repositories,
  removeConfigLock,
  removePlaceholders,
  trustOnFirstUse,
} from '../../platform/git/locate-checkout.ts';
import { gitEnvironment, runGit } from '../../platform/git/run-git.ts';
import { committedPlaceholders, commitWorktree, requireCommittable, takeOutPlaceholders } from './commit-worktree.ts';
import { diffOf, type TurnSnapshots, turnSnapshots } from './diff.ts';
import {
  type BaseRequest,
  branchesOf,
  ensureWorktree,
  type InPlace,
  inPlace,
  knownBase,
  newestBase,
  requireStartPoint,
  type StartPoint,
  startCommit,
} from './ensure-worktree.ts';
import { type Contents, createGeneratedFiles, createTreeDiffs, withContents } from './file-changes.ts';
import { type AbandonedWorktrees, type Checkouts, checkouts, findAbandonedWorktrees } from './linked-worktrees.ts';
import {
  type Merged,
  type MergeIdea,
  type MergeOrder,
  mergeInto,
  planFinish,
  requireMergeable,
  settleMerge,
  undoRefusal,
} from './merge.ts';
import { type OffBranch, offBranch, requireOnBranch } from './off-branch.ts';
import { type Publishing, publishing } from './publishing.ts';
import {
  planRemoval,
  type RemovalOrder,
  type Removed,
  removeWorktree,
  type WorktreeRemoval,
  worktreeRemoval,
} from './remove-worktree.ts';
import {
  createCommittedFiles,
  createFileSuggestions,
  foldersAbove,
  LOCAL,
  MCP,
  type RepositorySettings,
  repositorySettings,
  type SettingsFile,
  settingsFiles,
  settingsPaths,
} from './repository-files.ts';
import { folderTree, headTree } from './repository-tree.ts';
import { createSpareWorktrees, type SpareWorktrees } from './spare-worktree.ts';
import { settleUndo, undoMerge } from './update-checkout.ts';

export type { Merged } from './merge.ts';
export type { RestorePlan } from './restore-files.ts';

export interface WorktreesDeps {
  dataDir: string;
  /** The user's environment, for git. */
  env: Record<string, string>;
  /** The agreed git settings of each repository; by default those at the first call of git in it. */
  repositories?: Repositories;
}

export interface EnsureOptions {
  /** Where the branch of a new worktree begins, and its name. */
  start?: StartPoint;
  /** Receives notices for people about a new worktree. */
  notify?: (notice: string) => void;
}

/** One worktree and branch for each stage: `<data-dir>/worktrees/<project>/<stage>`, `callboard/<stage-id>`. */
export interface Worktrees
  extends Publishing,
    Checkouts,
    WorktreeRemoval,
    TurnSnapshots,
    AbandonedWorktrees,
    OffBranch,
    InPlace,
    SpareWorktrees {
  /**
   * Returns the top folder of the repository that contains `path`.
   * @throws Rejection `not_a_repository`, `no_commits`
   */
  inspect(path: string): Promise<{ root: string }>;
  /**
   * Creates the stage's worktree from the repository's current commit, with copies of the project's listed ignored files, or
   * returns the existing one. An incomplete worktree, whose creation was killed, is recreated; one that Callboard cleaned up is
   * recreated from its branch. Never takes over a folder or branch with other work: the names get a number at the end instead.
   *
   * @param recorded the stage's recorded worktree; null until the first one was completed
   * @throws OperationalError `worktree_failed`; `worktree_replaced` if something else stands at the recorded place, or nothing
   */
  ensure(project: Project, stageId: StageId, recorded: Worktree | null, options?: EnsureOptions): Promise<Worktree>;
  /** Returns the revision at which a new stage begins, after a fetch if that is wished. @throws OperationalError `fetch_failed` */
  newestBase(project: Pick<Project, 'path'>, wish: BaseRequest): Promise<string | null>;
  /** As `newestBase`, by what was fetched last. */
  knownBase(project: Pick<Project, 'path'>, wish: BaseRequest): Promise<string | null>;
  /** Returns the commit at which a new stage begins. @throws OperationalError `worktree_failed` */
  startCommit(project: Pick<Project, 'path'>, base: string | null): Promise<string>;
  /** Resolves if a stage may begin like this. @throws Rejection `unknown_base`, `bad_branch`, `branch_taken` */
  requireStartPoint(project: Pick<Project, 'path'>, start: StartPoint): Promise<void>;
  /** Lists the branches of the repository. @throws OperationalError `worktree_failed` */
  branches(project: Pick<Project, 'path'>): Promise<BranchList>;
  /**
   * Returns what a merge would change, and uncommitted changes; with a path, that file with its patch.
   * @throws OperationalError `worktree_failed`, also when the signal aborts; Rejection `head_moved` if a requested tree or
   *   commit no longer exists
   */
  diff(project: Project, worktree: Worktree, query?: DiffQuery, signal?: AbortSignal): Promise<StageDiff>;
  /** Opens the contents of files, for as long as `use` runs. @throws OperationalError `worktree_failed` */
  withContents<T>(worktree: Worktree, use: (contents: Contents) => Promise<T>): Promise<T>;
  /**
   * Returns at most twenty paths in a worktree or the main checkout that match the query, best first, without files that git
   * ignores. The list may be five seconds old. @throws OperationalError `worktree_failed`
   */
  suggestFiles(checkout: { path: string }, query: string): Promise<string[]>;
  /**
   * Commits everything in the worktree that git does not ignore, on the stage's branch; on failure, all is as before.
   * @returns the branch's newest commit
   * @throws Rejection `head_moved`, `commit_refused`
   */
  commit(project: Project, worktree: Worktree, order: CommitOrder & SeenDiff): Promise<string>;
  /** Throws what `commit` would throw, as far as that is known beforehand. @throws as `commit` */
  requireCommittable(project: Project, worktree: Worktree, seen: SeenDiff): Promise<void>;
  /**
   * Merges, squashes or rebases the stage's branch into the branch that the main checkout is on; leaves the checkout unchanged on
   * failure.
   * @returns what was merged; null if there was nothing to merge
   * @throws Rejection `head_moved`, `uncommitted_work`, `merge_refused`, `merge_conflict`
   */
  merge(project: Project, worktree: Worktree, order?: MergeOrder): Promise<Merged | null>;
  /**
   * Throws what `merge` would throw, as far as that is known beforehand.
   * @param order with `takesUncommitted`, uncommitted work is committed first
   * @throws as `merge`
   */
  requireMergeable(
    project: Project,
    worktree: Worktree,
    order?: MergeOrder & { takesUncommitted?: boolean },
  ): Promise<void>;
  /** Returns what a merge would do now. @throws Rejection `merge_refused`; OperationalError `worktree_failed` */
  planMerge(project: Project, worktree: Worktree, idea: MergeIdea): Promise<MergePlan>;
  /** As the functions of these names. @throws OperationalError `worktree_failed` */
  committedPlaceholders(worktree: Worktree, head: string): Promise<string[]>;
  /** @throws Rejection `commit_refused`; OperationalError `worktree_failed` */
  takeOutPlaceholders(project: Project, worktree: Worktree): Promise<string[]>;
  /**
   * Ends a planned merge that was interrupted, forward if the branch has its commit and otherwise back, without touching what
   * somebody else wrote (`foreign`).
   * @param since when it began, in milliseconds since 1970
   * @returns its commit; null if it was not merged
   * @throws OperationalError `worktree_failed` if that is not possible now
   */
  settleMerge(project: Project, planned: Merged, since: number): Promise<{ commit: string | null; foreign: string[] }>;
  /** Returns why the merge cannot be taken back; null if it can. */
  undoRefusal(project: Project, merge: StageMerge): Promise<string | null>;
  /** Moves the branch and the main checkout back to before the merge, squash or rebase. @throws Rejection `undo_refused` */
  undoMerge(project: Project, merge: StageMerge, marker: Readonly<Record<string, string>>): Promise<void>;
  /** As `settleMerge`, of an undoing. */
  settleUndo(project: Project, merge: StageMerge, since: number): Promise<{ isUndone: boolean; foreign: string[] }>;
  /** Reads the settings files that Claude Code would read in a worktree; null: in a new one from the main checkout's commit. */
  settings(project: Pick<Project, 'id' | 'path'>, worktree: Worktree | null): Promise<RepositorySettings>;
  /** Returns the text of a file in a commit; null if there is no such file or commit. Runs nothing of the repository. */
  fileAt(project: Pick<Project, 'path'>, revision: string, path: string): Promise<string | null>;
  /** Reads only the settings files. */
  settingsFiles(project: Pick<Project, 'path'>, worktree: Worktree): Promise<SettingsFile[]>;
  /** Returns the paths of these files, whether they exist or not. */
  settingsPaths(project: Pick<Project, 'path'>, worktree: Worktree): string[];
  /** Reads the repository's git settings that nobody has agreed to. @throws OperationalError `worktree_failed` */
  gitSettings(project: Project): Promise<readonly GitSettingItem[]>;
  /**
   * Removes what a killed sandbox left behind: its mount points in the worktree; with `isLast`, if no session of the project
   * has a process, also its lock on the configuration of the main checkout. People's files stay.
   * @throws OperationalError `worktree_failed`; a system error
   */
  clearSandbox(project: Pick<Project, 'path'>, worktree: Worktree, isLast: boolean): Promise<void>;
  /** Returns what `remove` would do now. @throws OperationalError `worktree_failed` */
  planRemoval(project: Project, worktree: Worktree, stageId?: StageId): Promise<Removal>;
  /**
   * Removes a worktree, and its branch if that is merged. Keeps ignored files and commits that no ref has first. Uncommitted and unmerged work stays, and
   * the result says so.
   * @throws whatever `mayBegin` and `keep` of the order throw; OperationalError `worktree_failed`
   */
  remove(project: Project, worktree: Worktree, order: RemovalOrder): Promise<Removed>;
}

export function createWorktrees({ dataDir, env, repositories = trustOnFirstUse() }: WorktreesDeps): Worktrees {
  const git = createGit({ env, repositories, hooksBase: join(dataDir, 'git-hooks') });
  const suggestFiles = createFileSuggestions(git);
  const generated = createGeneratedFiles();
  const trees = createTreeDiffs();
  /** Reading objects runs no program of the repository, so it needs no guard. */
  const objectsOnly = { ...gitEnvironment(env), GIT_NO_LAZY_FETCH: '1' };
  const committedFile = createCommittedFiles((repository, args) => runGit(repository, args, objectsOnly));
  /** By main checkout: git reads its list of worktrees when it creates one, and fails if another is being created (seen). */
  const makings = createKeyedMutex();
  const { prepareSpare, removeSpare, ...spares } = createSpareWorktrees({ git, dataDir, makings });

  return {
    inspect: (path) => inspectRepository(git, path),
    ensure: (project, stageId, recorded, { start = { base: null, branch: null }, notify = () => undefined } = {}) => {
      if (recorded !== null) spares.giveWay(project); // it may have nothing to make
      return makings(project.path, () =>
        ensureWorktree({ git, dataDir, project, stageId, recorded, start, notify, spares }),
      );
    },
    prepareSpare,
    removeSpare,
    startCommit: (project, base) => startCommit(git, project, base),
    knownBase: (project, wish) => knownBase(git, project, wish),
    newestBase: (project, wish) => makings(project.path, () => newestBase(git, project, wish)),
    requireStartPoint: (project, start) => requireStartPoint(git, project, start),
    branches: (project) => branchesOf(git, project),

    diff(project, worktree, query, signal) {
      const deps = { git: signal === undefined ? git : git.until(signal), generated, trees };
      return diffOf(deps, { worktree, checkout: project.path }, query);
    },
    withContents: (worktree, use) => withContents({ git, trees }, worktree, use),
    suggestFiles: ({ path }, query) => suggestFiles(path, query),
    ...finishing(git),
    ...offBranch(git, makings),
    ...inPlace({ git, dataDir, makings }),
    ...publishing(git),
    ...worktreeRemoval(git, makings),
    ...turnSnapshots({ git, generated, trees, dataDir }),
    ...findAbandonedWorktrees({ git, dataDir, makings }),

    gitSettings: (project) => git.inspect(project.path),
    settingsFiles: (project, worktree) => settingsFiles(worktree.path, project.path),
    settingsPaths: (project, worktree) => settingsPaths(worktree.path, project.path),
    settings: async (project, worktree) => {
      const committed = headTree((args) => runGit(project.path, args, objectsOnly));
      const root = await realpath(dataDir);
      // Reads both files of the commit at the same time; each is read only once.
      const [local] = await Promise.all([committed.read(LOCAL), worktree === null ? committed.read(MCP) : null]);
      return repositorySettings({
        tree: worktree === null ? committed : folderTree(worktree.path),
        checkout: folderTree(project.path),
        isLocalCommitted: local !== null,
        above: foldersAbove(worktree?.path ?? join(root, 'worktrees', project.id, 'stage'), root),
      });
    },

    fileAt: (project, revision, path) => committedFile(project.path, revision, path),

    clearSandbox: async (project, worktree, isLast) => {
      if (await pathExists(worktree.path)) await removePlaceholders(git, worktree.path);
      if (isLast) await removeConfigLock(project.path);
    },
    ...checkouts(git),
    planRemoval: (project, worktree, stageId) => planRemoval(git, project, worktree, stageId),
    remove: (project, worktree, order) => makings(project.path, () => removeWorktree(git, project, worktree, order)),
  };
}

/** See `Worktrees.inspect`. */
async function inspectRepository(git: Git, path: string): Promise<{ root: string }> {
  if (!(await pathExists(path))) throw new Rejection('not_a_repository', `There is no folder ${path}.`);
  const both = await git.try(path, ['rev-parse', '--show-toplevel', 'HEAD^{commit}']);
  if (!both.failed) return { root: await realpath(both.stdout.trimEnd().split('\n').slice(0, -1).join('\n')) };
  const top = await git.try(path, ['rev-parse', '--show-toplevel']);
  if (top.failed) {
    const bare = await git.try(path, ['rev-parse', '--is-bare-repository']);
    if (bare.stdout.trim() === 'true') {
      const message = `${path} is a bare repository: it has no files to work on. Clone it, and add the clone.`;
      throw new Rejection('not_a_repository', message);
    }
    const advice = `Choose another folder, or make a repository: \`cd '${path.replaceAll("'", "'\\''")}' && git init && git commit --allow-empty -m "First commit"\``;
    throw new Rejection('not_a_repository', `${path} is not a git repository. ${advice}`);
  }
  const root = await realpath(top.stdout.trim());
  const head = await git.try(root, ['rev-parse', '--verify', 'HEAD^{commit}']);
  if (head.failed) {
    const advice = 'Each stage gets a branch, which begins at a commit. Make a first commit, then add the repository.';
    throw new Rejection('no_commits', `The repository at ${root} has no commit yet. ${advice}`);
  }
  return { root };
}

type Finishing = Pick<
  Worktrees,
  | 'commit'
  | 'requireCommittable'
  | 'requireMergeable'
  | 'merge'
  | 'planMerge'
  | 'committedPlaceholders'
  | 'takeOutPlaceholders'
  | 'settleMerge'
  | 'undoRefusal'
  | 'undoMerge'
  | 'settleUndo'
>;

/** Committing and merging the work of a stage, and taking that back. */
function finishing(git: Git): Finishing {
  /** By main checkout: concurrent merges would see, and undo, each other's work. */
  const merges = createKeyedMutex();
  return {
    commit: (project, worktree, order) => commitWorktree(git, project, worktree, order),
    async requireCommittable(project, worktree, seen) {
      await afterOtherGit(git, worktree.path); // before anything is read: it may be a commit
      await requireOnBranch(git, project, worktree, { commits: true });
      await requireCommittable(git, project, worktree, seen);
    },
    async requireMergeable(project, worktree, order = {}) {
      await requireOnBranch(git, project, worktree);
      await requireMergeable(git, project, worktree, order);
    },
    async merge(project, worktree, order = {}) {
      await requireOnBranch(git, project, worktree);
      return merges(project.path, () => mergeInto(git, project, worktree, order));
    },
    committedPlaceholders: (worktree, head) => committedPlaceholders(git, worktree, head),
    takeOutPlaceholders: (project, worktree) => takeOutPlaceholders(git, project, worktree),
    planMerge: (project, worktree, idea) => planFinish(git, project, worktree, idea),
    settleMerge: (project, planned, since) => merges(project.path, () => settleMerge(git, project, planned, since)),
    undoRefusal: (project, merge) => undoRefusal(git, project, merge),
    undoMerge: (project, merge, marker) => merges(project.path, () => undoMerge(git, project, merge, marker)),
    settleUndo: (project, merge, since) => merges(project.path, () => settleUndo(git, project, merge, since)),
  };
}
