import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { NotSaved } from '@callboard/contract';
import { mapInSlices } from '../lib/breath.ts';
import { pathExists } from '../lib/path-exists.ts';
import type { CommitWithTree, WorktreeFacts } from './describe-worktree.ts';
import { nestedRepositories } from './git/command-line.ts';
import type { Git } from './git/git.ts';
import { type IndexCopy, withIndexCopy } from './index-copy.ts';
import { joined, unreferencedWork } from './loose-work.ts';
import { AS_CALLBOARD } from './merge-plan.ts';
import { snapshotOf } from './snapshot.ts';

/** A larger file would stay in the repository for as long as the ref, and is seldom anybody's text. */
const LARGEST_FILE_BYTES = 50 * 1024 * 1024;

/** Where a worktree is kept. */
export interface SaveOrder {
  /** The full name of the ref, for example `refs/callboard/trash/STAGE-1/2026-01-31T12-00-00Z`. */
  ref: string;
  message: string;
  /** With the repository, the commit also keeps what only the reflog of the worktree has, or a half-done rebase. */
  repository?: string;
}

/** What the caller knows or wants to know. */
interface SaveOptions extends SaveOrder {
  known?: Pick<WorktreeFacts, 'index' | 'at'>;
  /** `leftOut` has ignored files as well. */
  listsIgnored?: boolean;
}

/** A worktree as a commit. */
export interface SavedWorktree {
  /**
   * Its first parent is the commit that the worktree was at. If something was staged that neither that commit nor the files
   * have, a second parent has the index. A third one has earlier commits; then there is always a second one.
   */
  commit: string;
  /** The tree of the commit. */
  tree: string;
  /** The commit that the worktree was at. */
  head: string;
  /** Whether anything was not committed there. */
  isDirty: boolean;
  /** How many commits were kept that only the reflog of the worktree had. */
  earlier: number;
  leftOut: NotSaved[];
}

/** As `Worktrees.keep`. */
export async function saveWorktree(
  git: Git,
  path: string,
  { ref, message, known, listsIgnored = false, repository }: SaveOptions,
): Promise<SavedWorktree> {
  const { commit: head, tree: headTree } = known?.at ?? (await headOf(git, path));
  const files = await withIndexCopy(git, path, known?.index, (copy) => filesOf(git, path, copy, headTree));
  const { tree, staged, leftOut } = files;
  const isStagedElsewhere = staged === null || staged === headTree || staged === tree;
  const write = (of: string, text: string, parents: readonly string[]) =>
    commitTree(git, path, ['commit-tree', of, ...parents.flatMap((id) => ['-p', id]), '-m', text]);
  const loose = repository === undefined ? null : await earlierCommits(git, repository, path);
  const others = loose === null ? null : await joined(git, path, { tree: headTree, tips: loose.tips, message });
  const hasIndex = !isStagedElsewhere || others !== null;
  const index = hasIndex
    ? [await write(isStagedElsewhere ? headTree : (staged ?? tree), `${message} (index)`, [head])]
    : [];
  const commit = await write(tree, message, [head, ...index, ...(others === null ? [] : [others])]);
  // Whoever removes files next relies on both.
  await git.must(path, ['-c', 'core.fsync=loose-object,reference', 'update-ref', ref, commit]);
  const ignored = listsIgnored ? await ignoredIn(git, path) : [];
  const isDirty = tree !== headTree || !isStagedElsewhere;
  return { commit, tree, head, isDirty, earlier: loose?.count ?? 0, leftOut: [...leftOut, ...ignored] };
}

/** Returns the commits that only the reflog of a worktree reaches, or a half-done rebase: not its `HEAD`, and no ref. */
export async function earlierCommits(
  git: Git,
  repository: string,
  path: string,
): Promise<{ tips: readonly string[]; count: number }> {
  const worktree = { path, branch: 'HEAD', base: '' }; // its branch stays, and so does the reflog of that
  const { tips, head, earlier } = await unreferencedWork(git, { path: repository }, worktree, { branchGoes: false });
  return { tips: tips.filter((id) => id !== head), count: earlier };
}

async function headOf(git: Git, path: string): Promise<CommitWithTree> {
  const reported = await git.must(path, ['rev-parse', 'HEAD^{commit}', 'HEAD^{tree}']);
  const [commit = '', tree = ''] = reported.split('\n');
  return { commit, tree };
}

/** Returns the tree of the files, that of the index if it is worth a commit, and what is in neither. */
async function filesOf(git: Git, path: string, copy: IndexCopy, headTree: string) {
  const changes = await changesIn(git, path, copy.env);
  if (changes.length === 0) {
    // Not the tree of `HEAD`, which may have moved since it was read.
    const tree = await git.must(path, ['write-tree'], copy.env);
    return { tree, staged: null, leftOut: await nestedIn(git, path, copy.nested) };
  }
  const isStaged = changes.some((line) => !' ?'.includes(line.charAt(0)));
  const staged = isStaged ? await stagedTree(git, path, copy.env) : headTree;
  const leftOut = await findLeftOut(git, path, changes, copy.nested);
  const without = leftOut.map((one) => one.path);
  const { tree, unread } = await snapshotOf(git, path, copy, without);
  const unreadable = unread.map((name): NotSaved => ({ path: name, reason: 'unreadable', bytes: null }));
  return { tree, staged, leftOut: [...leftOut, ...unreadable] };
}

/** Commits as Callboard only if git knows no name for the user. */
async function commitTree(git: Git, path: string, args: readonly string[]): Promise<string> {
  const made = await git.try(path, args);
  return made.failed ? git.must(path, [...AS_CALLBOARD, ...args]) : made.stdout.trim();
}

/** As `Worktrees.leftOut`. */
export async function leftOutOf(git: Git, path: string): Promise<NotSaved[]> {
  const nested = nestedRepositories(await git.must(path, ['ls-files', '--stage', '-z']));
  const changes = await changesIn(git, path, {});
  return [...(await findLeftOut(git, path, changes, nested)), ...(await ignoredIn(git, path))];
}

/** Returns the tree of the index; null while it has conflicts. */
async function stagedTree(git: Git, path: string, env: Record<string, string>): Promise<string | null> {
  const written = await git.try(path, ['write-tree'], env);
  return written.failed ? null : written.stdout.trim();
}

/** Returns what differs from `HEAD`: lines of `git status`. @param env names another index */
async function changesIn(git: Git, path: string, env: Record<string, string>): Promise<string[]> {
  const list = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=all'];
  const reported = await git.must(path, ['-c', 'core.untrackedCache=false', ...list], env);
  return reported.split('\0').filter((line) => line !== '');
}

/** Returns files and folders that are in no commit of the worktree's files, without ignored ones. */
async function findLeftOut(
  git: Git,
  path: string,
  changes: readonly string[],
  submodules: ReadonlyMap<string, string>,
): Promise<NotSaved[]> {
  const changed = changes.flatMap((line) => {
    const isToAdd = line.length > 3 && !' D'.includes(line.charAt(1)) && !isConflict(line);
    return isToAdd ? [line.slice(3)] : [];
  });
  const found = await nestedIn(git, path, submodules);
  const nested = new Set(found.map((one) => one.path));
  const others = changed.filter((name) => !nested.has(name));
  const sizes = await mapInSlices(others, (name) => sizeNow(join(path, name)));
  others.forEach((name, index) => {
    const bytes = sizes[index] ?? 0;
    // With all untracked files listed, only a repository stays a folder.
    if (name.endsWith('/')) found.push({ path: name.slice(0, -1), reason: 'nested-repository', bytes: null });
    else if (bytes > LARGEST_FILE_BYTES) found.push({ path: name, reason: 'too-large', bytes });
  });
  return found;
}

/** Synchronous, because there may be thousands: a thread would cost ten times as much. Zero for what is gone meanwhile. */
function sizeNow(file: string): number {
  try {
    return lstatSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}

async function ignoredIn(git: Git, path: string): Promise<NotSaved[]> {
  const others = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const ignored = (await git.must(path, others)).split('\0').filter((name) => name !== '');
  return ignored.map((name): NotSaved => ({ path: name.replace(/\/$/, ''), reason: 'ignored', bytes: null }));
}

/** Git resolves a conflict by adding the file. Left out, it would keep the index from becoming a tree. */
const isConflict = (line: string): boolean => /^(?:U.|.U|AA|DD)/.test(line);

/** Returns the submodules that are at another commit than the index says, or have uncommitted files. */
async function nestedIn(git: Git, path: string, submodules: ReadonlyMap<string, string>): Promise<NotSaved[]> {
  const changed: NotSaved[] = [];
  for (const [name, recorded] of submodules) {
    const folder = join(path, name);
    if (!(await pathExists(join(folder, '.git')))) continue;
    const now = await git.try(folder, ['rev-parse', '--verify', 'HEAD']);
    const status = await git.try(folder, ['status', '--porcelain']);
    if (now.stdout.trim() !== recorded || status.failed || status.stdout !== '')
      changed.push({ path: name, reason: 'nested-repository', bytes: null });
  }
  return changed;
}
