import { basename, join } from 'node:path';
import {
  type BuildFolders,
  NAMED_FILES,
  type Project,
  type Removal,
  type SavedFile,
  type StageId,
  type TrashEntry,
  type Worktree,
} from '@callboard/contract';
import { pathExists } from '../lib/path-exists.ts';
import type { Git } from './git/git.ts';
import { entryOf } from './git/locate-checkout.ts';
import { type IgnoredFiles, ignoredFiles } from './ignored-files.ts';
import { innerWork } from './inner-worktrees.ts';
import { joinTips, type Loose, unreferencedWork } from './loose-work.ts';
import { isIn, newestMerge } from './recorded-merges.ts';
import { removePlaceholders } from './sandbox-mount-points.ts';
import { initializedSubmodules, unpushedSubmodules } from './submodules.ts';
import { worktreeEntry } from './worktree-list.ts';

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

export const stays = (path: string): string => `The worktree ${path} was left in place with all its contents:`;

/** Returns git's error without its advice, which would delete the files. */
function gitReason(text: string): string {
  const [first = ''] = text.trim().split(/[;\n]|, use /);
  return `git did not remove it (${first.replace(/^(fatal|error): /, '')}).`;
}

/** How many files an error text lists. */
const NAMED = 5;

/** Returns why git cannot remove the worktree, whatever is in it; null if it can. */
export async function stuckReason(
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
