import { createHash } from 'node:crypto';
import type { BranchCommit, DiffQuery, FileDiff, Project, StageDiff, StageId, Worktree } from '@callboard/contract';
import { OperationalError, Rejection } from '../../lib/errors.ts';
import { pathExists } from '../../platform/files.ts';
import { type Git, type GuardedGit, withObjectsOnlyGit } from '../../platform/git/git.ts';
import { filePatch, type GeneratedFiles, type TreeChange, type TreeDiffs, versionOf } from './file-changes.ts';
import { isIn, newestMerge } from './merge-plan.ts';
import { planRestore, type RestoreOrder, type RestorePlan, restoreFiles } from './restore-files.ts';
import { describeWorktree, type Snapshot, takeSnapshot, type WorktreeFacts } from './snapshot.ts';
import { type SavedWorktree, saveWorktree } from './unsaved-work.ts';

/** A stage's worktree, and the main checkout that its branch would be merged into. */
export interface DiffPosition {
  worktree: Worktree;
  checkout: string;
}

interface DiffDeps {
  git: Git;
  generated: GeneratedFiles;
  trees: TreeDiffs;
}

type Ends = Omit<StageDiff, 'files' | 'commits'>;

/**
 * Returns a worktree's changes: commits, uncommitted changes and new files together, from two trees alone; or those of one
 * commit. With a `path`, returns that file with a part of its patch; with a `limit`, so many of the files. Stages nothing.
 * @throws OperationalError `worktree_failed`; Rejection `head_moved` if the requested trees no longer exist
 */
export async function diffOf(deps: DiffDeps, position: DiffPosition, query: DiffQuery = {}): Promise<StageDiff> {
  const { git, trees } = deps;
  const { path } = query;
  const about = await describeWorktree(git, position.worktree);
  const commit = query.range === undefined || query.range === 'turn' ? null : query.range;
  const { base, tree } = commit === null ? query : await endsOfCommit(git, position.worktree, commit);
  if (path === undefined && base === undefined && tree === undefined)
    return allChanges(deps, position, about, await takeSnapshot(git, position.worktree.path, about.index));
  const taken =
    tree === undefined ? await takeSnapshot(git, position.worktree.path, about.index) : { tree, unread: [] };
  const { branch } = position.worktree;
  // A page asks so for each file that it shows.
  const isKnown = path !== undefined && base !== undefined;
  const now = isKnown
    ? { base, branch, head: about.head, since: null, ...taken }
    : await endsOf(git, position, about, taken);
  const ends = { ...now, base: base ?? now.base };
  return withObjectsOnlyGit(git, about, async (plain) => {
    const changes = await trees.between(plain, ends.base, ends.tree);
    if (changes === null) throw unknownEnds(ends, tree !== undefined || base !== undefined);
    if (path === undefined) {
      const { wanted, ...total } = pageOf(changes, query);
      return { ...ends, ...total, commits: [], files: await named(deps, position, now.base, wanted) };
    }
    const files: FileDiff[] = [];
    for (const change of changes.filter((one) => one.path === path))
      files.push({ ...toFile(change), ...(await filePatch(plain, change, query)) });
    return { ...ends, commits: [], files };
  });
}

/** Returns the files that a query with a `limit` wants, and how many there are; all files without a `limit`. */
export function pageOf<T>(
  files: readonly T[],
  { from = 0, limit }: DiffQuery,
): { wanted: readonly T[]; total?: number } {
  return limit === undefined ? { wanted: files } : { wanted: files.slice(from, from + limit), total: files.length };
}

/** Does what `diffOf` does without a query, with files that were read already. @throws as `diffOf` */
async function allChanges(
  deps: DiffDeps,
  position: DiffPosition,
  about: WorktreeFacts,
  taken: Snapshot,
): Promise<StageDiff> {
  const { git, trees } = deps;
  const ends = await endsOf(git, position, about, taken);
  const commits = ends.base === about.head ? [] : await branchCommits(git, position.worktree, ends);
  const isUntouched = ends.base === about.at?.commit && ends.tree === about.at.tree;
  const changes = isUntouched
    ? []
    : await withObjectsOnlyGit(git, about, (plain) => trees.between(plain, ends.base, ends.tree));
  if (changes === null) throw unknownEnds(ends, false);
  return { ...ends, commits, files: await named(deps, position, ends.base, changes) };
}

async function named(
  { git, generated }: DiffDeps,
  { worktree }: DiffPosition,
  base: string,
  changes: readonly TreeChange[],
): Promise<FileDiff[]> {
  const made = await generated.among(git, worktree.path, base, changes);
  return changes.map((change) => toFile(change, made));
}

async function endsOf(
  git: Git,
  { worktree, checkout }: DiffPosition,
  { head }: WorktreeFacts,
  taken: Snapshot,
): Promise<Ends> {
  const base = await baseOf(git, worktree, checkout, head);
  return { base, branch: worktree.branch, head, since: null, ...taken };
}

/**
 * Returns the commit to compare with: the merge base. The commit that the branch began at would hide that a branch has merged
 * the main branch and undone some of it. If everything is merged, or nothing committed, it is the commit it began at.
 */
async function baseOf(git: Git, worktree: Worktree, checkout: string, head: string): Promise<string> {
  const { base } = worktree;
  if (head === base) return base;
  const merged = await newestMerge(git, checkout, worktree, { into: 'HEAD', head });
  if (merged?.head === head || (await isIn(git, checkout, head, 'HEAD'))) return base;
  const common = await git.try(checkout, ['merge-base', 'HEAD', head]);
  if (common.failed) return merged?.head ?? base;
  const found = common.stdout.trim();
  // The main branch has the squashed commits too, although its history does not tell.
  return merged !== null && (await isIn(git, checkout, found, merged.head)) ? merged.head : found;
}

function toFile({ oldId, newId, ...file }: TreeChange, generated: ReadonlySet<string> = new Set()): FileDiff {
  const version = `${versionOf(oldId)}..${versionOf(newId)}`;
  return { ...file, version, isGenerated: generated.has(file.path) };
}

function unknownEnds({ base, tree }: Ends, wasAsked: boolean): Error {
  if (!wasAsked) return new OperationalError('worktree_failed', `git cannot compare ${base} with ${tree}.`);
  const message = 'The files you were shown are no longer available. Reload the changes and look again.';
  return new Rejection('head_moved', message);
}

const MAX_COMMITS = 100;

/** Fields end with a NUL, which no field can contain. */
const FORMAT = '%H%x00%an%x00%aI%x00%s%x00';

/** Returns the branch's commits since the base, newest first. */
async function branchCommits(
  git: Git,
  { path }: Worktree,
  { base, head }: { base: string; head: string },
): Promise<BranchCommit[]> {
  const range = ['--first-parent', `--max-count=${MAX_COMMITS}`, `${base}..${head}`, '--'];
  const { failed, stdout } = await git.try(path, [
    'log',
    '--no-show-signature',
    `--format=tformat:${FORMAT}`,
    ...range,
  ]);
  if (failed) return []; // the base may be a tree, or gone
  const fields = stdout.split(/\0\n?/);
  return Array.from({ length: Math.floor(fields.length / 4) }, (_, n) => {
    const [id = '', author = '', at = '', subject = ''] = fields.slice(n * 4);
    return { id, author, at, subject };
  });
}

/**
 * Returns the trees before and after a commit; a merge is compared with its first parent.
 * @throws Rejection `head_moved` if there is no such commit
 */
async function endsOfCommit(git: Git, { path }: Worktree, commit: string): Promise<{ base: string; tree: string }> {
  const found = await git.try(path, ['rev-parse', '--verify', '--quiet', `${commit}^{commit}^{tree}`]);
  if (found.failed) {
    throw new Rejection('head_moved', `The commit ${commit.slice(0, 7)} is no longer there. Reload the changes.`);
  }
  const parent = await git.try(path, ['rev-parse', '--verify', '--quiet', `${commit}^1^{commit}`]);
  const base = parent.failed ? await git.must(path, ['hash-object', '-t', 'tree', '/dev/null']) : parent.stdout.trim();
  return { base, tree: found.stdout.trim() };
}

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

interface TurnSnapshotsDeps extends Omit<DiffDeps, 'git'> {
  git: GuardedGit;
  dataDir: string;
}

export function turnSnapshots({ git, generated, trees, dataDir }: TurnSnapshotsDeps): TurnSnapshots {
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
      const diff = await allChanges(
        { git: until, generated, trees },
        { worktree, checkout: project.path },
        about,
        files,
      );
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
