import { lstat, mkdir, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type BuildFolders,
  NAMED_FILES,
  type NotSaved,
  type Project,
  type Removal,
  type SavedFile,
  type StageId,
  type TrashEntry,
  type Worktree,
} from '@callboard/contract';
import type { KeyedMutex } from '../../lib/async.ts';
import { OperationalError } from '../../lib/errors.ts';
import { pathExists } from '../../platform/files.ts';
import type { Git } from '../../platform/git/git.ts';
import { entryOf, removePlaceholders } from '../../platform/git/locate-checkout.ts';
import { gitFailure, nestedRepositories } from '../../platform/git/run-git.ts';
import {
  countUncommitted,
  type IgnoredFiles,
  ignoredFiles,
  initializedSubmodules,
  innerWork,
  removeIncomplete,
  sizeOf,
  unpushedSubmodules,
  worktreeEntry,
  worktreeStatus,
} from './linked-worktrees.ts';
import { isIn, newestMerge } from './merge-plan.ts';
import { takeSnapshot } from './snapshot.ts';
import {
  earlierCommits,
  joinTips,
  type Loose,
  leftOutOf,
  type SavedWorktree,
  type SaveOrder,
  saveWorktree,
  unreferencedWork,
} from './unsaved-work.ts';

/** How to remove a worktree. */
export interface RemovalOrder {
  buildFolders: BuildFolders;
  /** Moves files of the worktree to the trash, and lists there commits that were kept for it. */
  save: (files: readonly SavedFile[], commits: SavedCommits | null) => Promise<TrashEntry | null>;
  /** With it, the commits that the worktree was at between turns are kept as well. */
  stageId?: StageId;
  /** Called before anything is removed, once other work on the repository has finished. @throws Rejection if the worktree must stay */
  mayBegin: () => Promise<void>;
}

/** Commits that no branch or tag has, as a commit on a ref of the repository. */
export interface SavedCommits {
  ref: string;
  commit: string;
  repository: string;
  branch: string | null;
  uncommitted: number;
  unmerged: number;
  earlier: number;
}

/** The result of a removal. */
export interface Removed {
  /** What was left in place, for people; null if nothing was. */
  left: string | null;
  kept: TrashEntry | null;
  deleted: SavedFile[];
}

const NOTHING: IgnoredFiles = { files: [], buildFolders: [] };

/** Returns what the removal would do. @throws OperationalError `worktree_failed` */
export async function planRemoval(git: Git, project: Project, worktree: Worktree, stageId?: StageId): Promise<Removal> {
  const left = await whyWorktreeStays(git, project, worktree);
  const isHere = await pathExists(worktree.path);
  const { files, buildFolders } = left === null && isHere ? await ignoredFiles(git, project, worktree.path) : NOTHING;
  const branch = await branchOf(git, project, worktree);
  const loose = left === null ? await unreferencedIn(git, project, worktree, stageId) : null;
  return {
    worktree: isHere ? worktree.path : null,
    left,
    files: files.slice(0, NAMED_FILES),
    fileCount: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    buildFolders,
    branch,
    loose: loose?.told ?? null,
  };
}

/**
 * Removes the worktree, and its branch if that is merged. Moves ignored files to the trash first; leaves everything in place if
 * there is uncommitted work.
 * @throws whatever `mayBegin` throws; OperationalError `worktree_failed`; a system error if the files could not be moved
 */
export async function removeWorktree(
  git: Git,
  project: Project,
  worktree: Worktree,
  { buildFolders, save, mayBegin, stageId }: RemovalOrder,
): Promise<Removed> {
  await mayBegin();
  const { path } = worktree;
  const left = await whyWorktreeStays(git, project, worktree);
  if (left !== null) {
    // Git has forgotten what the worktree was at, so it keeps nothing for it.
    const isForgotten = entryOf(project.path, path) === null;
    const last = isForgotten
      ? await saveUnreferenced(git, project, await unreferencedIn(git, project, worktree, stageId), basename(path))
      : null;
    return { left, kept: last === null ? null : await save([], last), deleted: [] };
  }
  const ignored = (await pathExists(path)) ? await ignoredFiles(git, project, path) : NOTHING;
  const toSave = [...ignored.files, ...(buildFolders === 'keep' ? ignored.buildFolders : [])];
  const loose = await unreferencedIn(git, project, worktree, stageId);
  const commits = await saveUnreferenced(git, project, loose, basename(path));
  const kept = toSave.length === 0 && commits === null ? null : await save(toSave, commits);
  const deleted = buildFolders === 'delete' ? ignored.buildFolders : [];
  if (await pathExists(path)) await removePlaceholders(git, path); // git would count them as changes
  // Git requires it for a worktree with submodules. The check above made sure that nothing is lost.
  const force = (await pathExists(path)) && (await initializedSubmodules(git, path)).length > 0 ? ['--force'] : [];
  const removal = await git.try(project.path, ['worktree', 'remove', ...force, path]);
  if (removal.failed) {
    const inTrash = toSave.length === 0 ? '' : ' Its ignored files are in the trash.';
    return {
      left: `The worktree ${path} was left in place: ${gitReason(removal.stderr)}${inTrash}`,
      kept,
      deleted: [],
    };
  }
  const isSaved = !(await removeBranch(git, project, worktree));
  return { left: isSaved ? branchStaysNotice(worktree) : null, kept, deleted };
}

/** Returns what would be lost with the worktree, though nothing in its files is. */
async function unreferencedIn(git: Git, project: Project, worktree: Worktree, stageId?: StageId): Promise<Loose> {
  const branch = await branchOf(git, project, worktree);
  return unreferencedWork(git, project, worktree, { branchGoes: branch?.isKept === false, stageId });
}

/**
 * Puts a ref on commits that are reachable from nothing else once the worktree is gone; null if there are none. The same again
 * after an interruption.
 * @throws OperationalError `worktree_failed`
 */
export async function saveUnreferenced(
  git: Git,
  { path }: Pick<Project, 'path'>,
  { tips, head, branch, told }: Loose,
  name: string,
): Promise<SavedCommits | null> {
  const [first] = tips;
  if (first === undefined) return null;
  const message = `Commits of ${name} that no branch has`;
  const commit = await joinTips(git, path, { head: head ?? first, tips, message });
  const ref = `refs/callboard/trash/${name.replaceAll(/[^A-Za-z0-9_-]/g, '-')}/commits-${commit.slice(0, 12)}`;
  await git.must(path, ['-c', 'core.fsync=loose-object,reference', 'update-ref', ref, commit]);
  const counts = { uncommitted: 0, unmerged: told?.commits ?? 0, earlier: told?.earlier ?? 0 };
  return { ref, commit, repository: path, branch, ...counts };
}

const branchStaysNotice = ({ branch }: Worktree): string => `The branch ${branch} was kept: it has unmerged work.`;

const stays = (path: string): string => `The worktree ${path} was left in place with all its contents:`;

/** Returns git's error without its advice, which would delete the files. */
function gitReason(text: string): string {
  const [first = ''] = text.trim().split(/[;\n]|, use /);
  return `git did not remove it (${first.replace(/^(fatal|error): /, '')}).`;
}

/** How many files an error text lists. */
const NAMED = 5;

/** Returns why git cannot remove the worktree, whatever is in it; null if it can. */
async function stuckReason(
  git: Git,
  project: Pick<Project, 'path'>,
  { path }: Pick<Worktree, 'path'>,
): Promise<string | null> {
  if (!(await pathExists(path))) return null;
  if (!(await pathExists(project.path))) {
    return `${stays(path)} its repository is no longer at ${project.path}.`;
  }
  const entry = await worktreeEntry(git, project.path, path);
  if (entry === null) return `${stays(path)} git does not know it as a worktree of ${project.path}.`;
  if (entry.some((line) => /^locked\b/.test(line))) {
    return `${stays(path)} it is locked. To remove it, run "git worktree unlock" on it first.`;
  }
  const inner = await innerWork(git, project.path, path);
  if (inner === null) return null;
  return `${stays(path)} the worktree ${inner.path} in it ${inner.what}. Commit them on a branch, or remove it with "git worktree remove", first.`;
}

/** Returns why the worktree must stay, for people; null if nothing would be lost. */
async function whyWorktreeStays(git: Git, project: Project, { path }: Worktree): Promise<string | null> {
  const stuck = await stuckReason(git, project, { path });
  if (stuck !== null || !(await pathExists(path))) return stuck;
  const changed = await changedFiles(git, path);
  if (typeof changed === 'string') return `${stays(path)} git cannot read it (${changed}).`;
  if (changed.length > 0) {
    const more = changed.length > NAMED ? ` and ${changed.length - NAMED} more` : '';
    return `${stays(path)} it has uncommitted changes (${changed.slice(0, NAMED).join(', ')}${more}).`;
  }
  const unpushed = await unpushedSubmodules(git, path);
  if (unpushed.length === 0) return null;
  return `${stays(path)} there are commits in ${unpushed.join(', ')} that no remote has.`;
}

/** Returns uncommitted files, including those in nested repositories; as a string, git's error if that failed. */
async function changedFiles(git: Git, worktree: string): Promise<string[] | string> {
  const status = [
    'status',
    '--porcelain',
    '-z',
    '--no-renames',
    '--untracked-files=normal',
    '--ignore-submodules=dirty',
  ];
  const outer = await changesIn(git, worktree, '', status);
  if (typeof outer === 'string' || outer.length > 0) return outer;
  for (const folder of await initializedSubmodules(git, worktree)) {
    const inner = await changesIn(git, worktree, folder, status);
    if (typeof inner === 'string' || inner.length > 0) return inner;
  }
  return [];
}

async function changesIn(git: Git, worktree: string, folder: string, status: string[]): Promise<string[] | string> {
  const read = await git.try(join(worktree, folder), status);
  if (read.failed) return read.stderr.trim();
  return read.stdout.split('\0').flatMap((line) => (line === '' ? [] : [join(folder, line.slice(3))]));
}

/** Removes the branch if it is merged. @returns whether it is gone */
async function removeBranch(git: Git, project: Project, worktree: Worktree): Promise<boolean> {
  const { branch } = worktree;
  if (!(await git.try(project.path, ['branch', '-d', branch])).failed) return true;
  const known = await branchOf(git, project, worktree);
  if (known === null) return true;
  // Git itself cannot know that it was squashed.
  return !known.isKept && !(await git.try(project.path, ['branch', '-D', branch])).failed;
}

async function branchOf(git: Git, project: Project, worktree: Worktree): Promise<Removal['branch']> {
  const { branch: name } = worktree;
  const { path } = project;
  const tip = await git.try(path, ['rev-parse', '--verify', '--quiet', `refs/heads/${name}`]);
  if (tip.failed) return null;
  const head = tip.stdout.trim();
  if (await isIn(git, path, head, 'HEAD')) return { name, isKept: false };
  const merged = await newestMerge(git, path, worktree, { into: 'HEAD', head });
  return { name, isKept: merged?.head !== head };
}

/** A worktree, and the repository that it belongs to. */
export interface WorktreeLocation {
  repository: string;
  path: string;
}

/** What a worktree has that no commit of its repository's main branch has. */
export interface OpenWork {
  head: string;
  /** Null while it is on no branch. */
  branch: string | null;
  uncommitted: number;
  /** Commits that are not in the main checkout's branch. */
  unmerged: number;
  /** Further commits that only the reflog of the worktree has. */
  earlier: number;
}

/** What a worktree has beside what a commit of its files can keep. */
export interface FilesBeside {
  /** Ignored files, files above 50 MB and nested repositories. */
  files: SavedFile[];
  /** Dependency and build folders, which a tool can recreate. */
  buildFolders: SavedFile[];
}

/** Where the files of a kept worktree go. */
export interface PutBackOrder extends WorktreeLocation {
  commit: string;
  /** The branch of a new worktree. */
  branch: string;
  /** The branch that gets the earlier commits, if some were kept. */
  earlierBranch: string;
}

/** Takes a worktree away without losing what is in it, and puts it back. */
export interface WorktreeRemoval {
  /**
   * Keeps the files of a worktree, tracked and untracked ones, as a commit on a ref of its repository, without touching the
   * worktree, its index or its branch. Resolves when both are on the disk.
   * @throws OperationalError `worktree_failed`; the ref is as it was then
   */
  save(worktree: Pick<Worktree, 'path'>, order: SaveOrder): Promise<SavedWorktree>;
  /** Returns what `keep` would leave out now. Stores nothing. @throws OperationalError `worktree_failed` */
  leftOut(worktree: Pick<Worktree, 'path'>): Promise<NotSaved[]>;
  /** Returns why the worktree has to stay where it is, for people; null if it may be taken away. @throws OperationalError `worktree_failed` */
  stayReason(checkout: WorktreeLocation): Promise<string | null>;
  /** @throws OperationalError `worktree_failed` */
  openWork(checkout: WorktreeLocation): Promise<OpenWork>;
  /** Unchanged copies that Callboard made do not count. @throws OperationalError `worktree_failed`; a system error */
  filesBeside(project: Project, path: string): Promise<FilesBeside>;
  /** Makes git forget a worktree whose folder is gone; its branch stays. @throws OperationalError `worktree_failed` */
  forget(checkout: WorktreeLocation): Promise<void>;
  /** Removes a ref if it still points at the commit. A repository or ref that is gone is no error. @throws OperationalError `worktree_failed` */
  dropSaved(repository: string, ref: string, commit: string): Promise<void>;
  /** Returns the commit of a ref; null if there is none. */
  commitOf(repository: string, ref: string): Promise<string | null>;
  /**
   * Puts the files of a kept worktree back as uncommitted changes: into a new worktree, or into one that is clean and at the
   * commit that they belong to. Never overwrites anything.
   * @returns whether it did; false: something else is there
   * @throws OperationalError `worktree_failed`
   */
  putBack(order: PutBackOrder): Promise<boolean>;
}

/** @param makings git fails if it makes two worktrees of a repository at once */
export const worktreeRemoval = (git: Git, makings: KeyedMutex): WorktreeRemoval => ({
  save: ({ path }, order) => saveWorktree(git, path, { ...order, listsIgnored: true }),
  leftOut: ({ path }) => leftOutOf(git, path),
  stayReason: (checkout) => stayReason(git, checkout),
  openWork: (checkout) => openWork(git, checkout),
  filesBeside: (project, path) => filesBeside(git, project, path),
  forget: ({ repository, path }) =>
    makings(repository, async () => {
      if ((await pathExists(path)) || !(await pathExists(repository))) return;
      if ((await worktreeStatus(git, repository, path)) === 'unknown') return;
      await git.must(repository, ['worktree', 'remove', '--force', path]);
    }),
  async dropSaved(repository, ref, commit) {
    if (!(await pathExists(repository)) || (await commitOf(git, repository, ref)) !== commit) return;
    await git.must(repository, ['update-ref', '-d', ref, commit]);
  },
  commitOf: (repository, ref) => commitOf(git, repository, ref),
  putBack: (order) => makings(order.repository, () => putBack(git, order)),
});

async function commitOf(git: Git, repository: string, ref: string): Promise<string | null> {
  if (!(await pathExists(repository))) return null;
  const { failed, stdout } = await git.try(repository, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  return failed ? null : stdout.trim();
}

async function stayReason(git: Git, { repository, path }: WorktreeLocation): Promise<string | null> {
  const stuck = await stuckReason(git, { path: repository }, { path });
  if (stuck !== null || !(await pathExists(path))) return stuck;
  const submodules = await initializedSubmodules(git, path);
  const leftOut = await leftOutOf(git, path);
  for (const { path: name, reason } of leftOut) {
    if (reason !== 'nested-repository') continue;
    if (submodules.includes(name))
      return `${stays(path)} the submodule ${name} is at another commit, or has uncommitted changes. Commit and push them there.`;
    // A repository whose data are elsewhere cannot be moved with its folder.
    if (!(await isFolder(join(path, name, '.git'))))
      return `${stays(path)} ${name} is a checkout of another repository. Move it away first.`;
  }
  const unpushed = await unpushedSubmodules(git, path);
  return unpushed.length === 0
    ? null
    : `${stays(path)} there are commits in ${unpushed.join(', ')} that no remote has.`;
}

async function openWork(git: Git, { repository, path }: WorktreeLocation): Promise<OpenWork> {
  const head = await git.must(path, ['rev-parse', '--verify', 'HEAD^{commit}']);
  const on = await git.try(path, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  const isMerged = await isIn(git, repository, head, 'HEAD');
  const count = isMerged ? '0' : await git.must(repository, ['rev-list', '--count', `HEAD..${head}`]);
  const branch = on.failed ? null : on.stdout.trim();
  const { count: earlier } = await earlierCommits(git, repository, path);
  return { head, branch, uncommitted: await countUncommitted(git, path), unmerged: Number(count), earlier };
}

async function filesBeside(git: Git, project: Project, path: string): Promise<FilesBeside> {
  const { files, buildFolders } = await ignoredFiles(git, project, path);
  const submodules = nestedRepositories(await git.must(path, ['ls-files', '--stage', '-z']));
  const beside: SavedFile[] = [];
  for (const { path: name, reason, bytes } of await leftOutOf(git, path)) {
    if (reason === 'too-large') beside.push({ path: name, bytes: bytes ?? 0 });
    if (reason === 'nested-repository' && !submodules.has(name))
      beside.push({ path: name, bytes: await sizeOf(join(path, name)) });
  }
  return { files: [...beside, ...files], buildFolders };
}

async function putBack(git: Git, order: PutBackOrder): Promise<boolean> {
  const { repository, commit, earlierBranch } = order;
  if (!(await putFilesBack(git, order))) return false;
  // Their ref goes with the entry.
  const earlier = await commitOf(git, repository, `${commit}^3`);
  if (earlier !== null) await git.must(repository, ['update-ref', `refs/heads/${earlierBranch}`, earlier]);
  return true;
}

async function putFilesBack(git: Git, { repository, path, commit, branch }: PutBackOrder): Promise<boolean> {
  const parent = await git.must(repository, ['rev-parse', '--verify', `${commit}^1`]);
  const known = await worktreeStatus(git, repository, path);
  if (known === 'incomplete') await removeIncomplete(git, repository, path);
  if (known !== 'complete' || !(await pathExists(path))) {
    if ((await pathExists(path)) && !(await isEmptyFolder(path))) return false;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const tip = await commitOf(git, repository, `refs/heads/${branch}`);
    if (tip !== null && tip !== parent) return false;
    const target = tip === null ? ['-b', branch, path, parent] : [path, branch];
    const force = known === 'complete' ? ['--force'] : []; // git still lists it
    const added = await git.try(repository, ['worktree', 'add', ...force, ...target]);
    if (added.failed && (await worktreeStatus(git, repository, path)) !== 'complete')
      throw new OperationalError('worktree_failed', gitFailure(`The worktree ${path} was not created.`, added.stderr));
  }
  return apply(git, path, { commit, parent });
}

/** Brings the files of a commit into a clean worktree that is at its parent. */
async function apply(git: Git, path: string, { commit, parent }: { commit: string; parent: string }): Promise<boolean> {
  if ((await git.must(path, ['rev-parse', '--verify', 'HEAD^{commit}'])) !== parent) return false;
  const wanted = await git.must(path, ['rev-parse', '--verify', `${commit}^{tree}`]);
  const { tree } = await takeSnapshot(git, path);
  if (tree === wanted) return true;
  if ((await git.must(path, ['status', '--porcelain'])) !== '') return false;
  await git.must(path, ['read-tree', '-m', '-u', parent, commit]);
  const staged = await git.try(path, ['rev-parse', '--verify', '--quiet', `${commit}^2`]);
  await git.must(path, ['read-tree', staged.failed ? parent : staged.stdout.trim()]);
  await git.try(path, ['update-index', '-q', '--refresh']); // it fails because files have changed
  return true;
}

const isFolder = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => null))?.isDirectory() === true;

const isEmptyFolder = async (path: string): Promise<boolean> => (await readdir(path).catch(() => ['?'])).length === 0;
