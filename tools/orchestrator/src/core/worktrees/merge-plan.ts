import type { MergeMethod, MergePlan, Project, SeenDiff, StageMerge, Worktree } from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { pathExists } from '../../platform/files.ts';
import type { Git } from '../../platform/git/git.ts';
import { NO_REPLACEMENTS } from '../../platform/git/run-git.ts';
import { describeWorktree, takeSnapshot } from './snapshot.ts';

/** Where a merge goes. */
export interface MergeTarget {
  /** The branch that the main checkout is on, and the commit it is at. */
  into: string;
  previous: string;
}

/** What a worktree holds. */
export interface WorktreeContents {
  head: string;
  /** The tree of the head, and the tree of all files. They differ while there is uncommitted work. */
  committed: string;
  tree: string;
  /** The path of its index; null without a worktree. */
  index: string | null;
  /** Files that git cannot add. */
  unread: string[];
}

/** The commit that tells what a merge of uncommitted work would do. Nothing points at it; always the same for the same files. */
export const TRIAL_COMMIT = {
  GIT_AUTHOR_NAME: 'Callboard',
  GIT_AUTHOR_EMAIL: 'callboard@localhost',
  GIT_AUTHOR_DATE: '2000-01-01T00:00:00Z',
  GIT_COMMITTER_NAME: 'Callboard',
  GIT_COMMITTER_EMAIL: 'callboard@localhost',
  GIT_COMMITTER_DATE: '2000-01-01T00:00:00Z',
};

/**
 * Reads what a worktree holds; without its folder, what its branch holds. Stages nothing.
 * @throws Rejection `merge_refused` if both are gone; OperationalError `worktree_failed`
 */
export async function readContents(git: Git, project: Project, worktree: Worktree): Promise<WorktreeContents> {
  const { path, branch } = worktree;
  if (await pathExists(path)) {
    const { head, index, at } = await describeWorktree(git, worktree);
    const { tree, unread } = await takeSnapshot(git, path, index);
    // Compares trees instead of "git status", which flags in the index can blind.
    const committed = at?.commit === head ? at.tree : await git.must(path, ['rev-parse', '--verify', `${head}^{tree}`]);
    return { head, committed, tree, index, unread };
  }
  const ask = ['rev-parse', '--verify', '--quiet'];
  const head = await git.try(project.path, [...ask, `refs/heads/${branch}^{commit}`]);
  if (head.failed) {
    const message = `The worktree ${path} and its branch ${branch} no longer exist, so there is nothing to merge.`;
    throw new Rejection('merge_refused', message);
  }
  const committed = await git.must(project.path, ['rev-parse', '--verify', `${head.stdout.trim()}^{tree}`]);
  return { head: head.stdout.trim(), committed, tree: committed, index: null, unread: [] };
}

/** Returns the paths with uncommitted changes. */
export async function uncommittedFiles(
  git: Git,
  { path }: Worktree,
  { committed, tree }: WorktreeContents,
): Promise<string[]> {
  if (tree === committed) return [];
  const names = await git.must(path, ['diff-tree', '-r', '--no-renames', '--name-only', '-z', committed, tree]);
  return names.split('\0').filter((name) => name !== '');
}

/**
 * Throws unless the worktree is as it was shown.
 * @throws Rejection `head_moved`
 */
export function requireSeen({ branch }: Worktree, { head, tree }: WorktreeContents, seen: SeenDiff): void {
  const moved = [
    seen.head !== undefined && seen.head !== head ? `${branch} has other commits` : '',
    seen.tree !== undefined && seen.tree !== tree ? 'files in the worktree have changed' : '',
  ].filter((text) => text !== '');
  if (moved.length === 0) return;
  // Also for a merge that no person has looked at before.
  const message = `The work has changed in the meantime: ${moved.join(', and ')}. Nothing was merged. Look at the changes, then merge.`;
  throw new Rejection('head_moved', message);
}

export function uncommitted({ branch }: Worktree, files: readonly string[]): Rejection {
  const [list, rest] = [files.slice(0, 5).join(', '), files.length > 5 ? ', …' : ''];
  const what = files.length === 1 ? '1 file has' : `${files.length} files have`;
  const message = `${what} uncommitted changes on ${branch} (${list}${rest}). Have Claude commit them, or commit them yourself, then merge.`;
  return new Rejection('uncommitted_work', message);
}

const BRANCHES = 'refs/heads/';

/**
 * Returns the branch that the main checkout is on, which a merge goes into, and the commit it is at.
 * @throws Rejection `merge_refused` if it is on none; OperationalError `worktree_failed`
 */
export async function targetOf(git: Git, project: Project): Promise<MergeTarget> {
  const reported = await git.must(project.path, ['rev-parse', 'HEAD', '--symbolic-full-name', 'HEAD']);
  const [previous = '', name = ''] = reported.split('\n');
  if (name.startsWith(BRANCHES)) return { into: name.slice(BRANCHES.length), previous };
  throw new Rejection(
    'merge_refused',
    `The main checkout at ${project.path} is not on a branch. Check out the branch to merge into.`,
  );
}

/** @throws Rejection `merge_refused`, with the files, if tracked files of the main checkout have changed */
export async function requireClean(git: Git, project: Project): Promise<void> {
  const changed = await changedFiles(git, project.path);
  if (changed.length === 0) return;
  throw new Rejection(
    'merge_refused',
    `The main checkout at ${project.path} has uncommitted changes (${namedFiles(changed)}). Commit or stash them, then merge.`,
  );
}

/** Returns the tracked files of a checkout that have uncommitted changes. @throws OperationalError `worktree_failed` */
export async function changedFiles(git: Git, checkout: string): Promise<string[]> {
  const list = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no'];
  return (await git.must(checkout, list)).split('\0').flatMap((line) => (line === '' ? [] : [line.slice(3)]));
}

/** Lists the first five of these files. */
export const namedFiles = (files: readonly string[]): string =>
  `${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''}`;

/** Returns the commit to try the merge with: the head, or one that nothing points at, with the uncommitted work. */
export async function trialCommit(git: Git, { path }: Worktree, contents: WorktreeContents): Promise<string> {
  const { head, committed, tree } = contents;
  if (tree === committed) return head;
  return git.must(path, ['commit-tree', tree, '-p', head, '-m', 'Uncommitted work'], TRIAL_COMMIT);
}

/** Returns options with Callboard's identity if git has none, for example on a new machine or in a container. */
export async function identityOptions(git: Git, path: string): Promise<string[]> {
  const known = await Promise.all(
    ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'].map((name) => git.try(path, ['var', name])),
  );
  if (known.every(({ failed }) => !failed)) return [];
  return AS_CALLBOARD;
}

/** Options with Callboard's identity. */
export const AS_CALLBOARD = ['-c', 'user.name=Callboard', '-c', 'user.email=callboard@localhost'];

/** How many of them an error text lists. */
const NAMED = 5;

/**
 * Returns the folders that `to` has and `from` has not as a pointer to a repository of its own that is no submodule, for example one
 * that a scaffolding tool created. Nobody who gets such a commit gets their files.
 * @throws OperationalError `worktree_failed`
 */
export async function embeddedRepositories(git: Git, folder: string, from: string, to: string): Promise<string[]> {
  const list = ['diff-tree', '-r', '--raw', '-z', '--no-renames', '--ignore-submodules=none', from, to];
  const parts = (await git.must(folder, list, NO_REPLACEMENTS)).split('\0');
  const added = parts.flatMap((part, index) => (/^:(?!160000)\d+ 160000 /.test(part) ? [parts[index + 1] ?? ''] : []));
  if (added.length === 0) return [];
  const read = ['config', '-z', '--blob', `${to}:.gitmodules`, '--get-regexp', '^submodule\\..*\\.path$'];
  const declared = await git.try(folder, read, NO_REPLACEMENTS);
  const submodules = new Set(declared.stdout.split('\0').map((entry) => entry.slice(entry.indexOf('\n') + 1)));
  return added.filter((path) => !submodules.has(path));
}

/** Why these folders cannot be committed or merged, and what to do. */
export function embeddedRepositoriesText(paths: readonly string[]): string {
  const names = `${paths.slice(0, NAMED).join(', ')}${paths.length > NAMED ? ', …' : ''}`;
  const [what, its, ones] =
    paths.length === 1
      ? [`${names} is a git repository of its own`, 'its', 'it']
      : [`${names} are git repositories of their own`, 'their', 'them'];
  return `${what}: git would take only a pointer along, and none of ${its} files. Have Claude remove ${its} .git and add ${its} files (after "git rm --cached" if the pointer is committed), declare ${ones} as a submodule, or move ${ones} out of the worktree.`;
}

/** What bringing a commit into the target in one way would do. */
export interface MergeOutcome extends Pick<MergePlan, 'commits' | 'files' | 'conflicts' | 'stoppedAt'> {
  /** The tree of the target afterwards; null if git (before 2.38) cannot tell without merging. */
  tree: string | null;
  /** For a rebase: what it would make. */
  replayed: ReplayedCommit[];
  /** The commit up to which the target has the work although the history does not tell; null if there is none. */
  since: string | null;
}

export interface MergeAttempt {
  method: MergeMethod;
  /** The commit that the target is at. */
  previous: string;
  commit: string;
}

/**
 * Tries a merge without touching a file: it only adds objects.
 * @throws Rejection `merge_refused` if git cannot tell; OperationalError `worktree_failed`
 */
export async function tryMerge(
  git: Git,
  folder: string,
  worktree: Worktree,
  attempt: MergeAttempt,
): Promise<MergeOutcome> {
  const { method, previous, commit } = attempt;
  const since = (await newestMerge(git, folder, worktree, { into: previous, head: commit }))?.head ?? null;
  await requireNoEmbedded(git, folder, { from: since, previous, commit });
  const counts = await countMissing(git, folder, { previous, commit, since });
  const outcome = { ...counts, conflicts: [], stoppedAt: null, tree: null, replayed: [], since };
  if (counts.commits === 0) return outcome;
  const common = await git.try(folder, ['merge-base', previous, commit], NO_REPLACEMENTS);
  const from = since ?? (common.failed ? previous : common.stdout.trim());
  const embedded = await embeddedRepositories(git, folder, from, commit);
  if (embedded.length > 0)
    throw new Rejection('merge_refused', `Nothing was merged: ${embeddedRepositoriesText(embedded)}`);
  if (method === 'merge') {
    const { tree, conflicts } = await mergeTrees(git, folder, previous, commit);
    return { ...outcome, tree, conflicts };
  }
  if (method === 'rebase') {
    const { commits, ...made } = await replay(git, folder, { onto: previous, head: commit, since });
    const files = made.stoppedAt === null ? await countFiles(git, folder, previous, made.tree) : counts.files;
    return { ...outcome, ...made, replayed: commits, commits: commits.length, files };
  }
  const { tree, conflicts } = await squash(git, folder, attempt, since);
  if (conflicts.length > 0) return { ...outcome, conflicts };
  const files = await countFiles(git, folder, previous, tree);
  return { ...outcome, tree, files, commits: files === 0 ? 0 : counts.commits };
}

/** @throws Rejection `merge_refused` if the merge would bring in a repository as a bare pointer */
async function requireNoEmbedded(
  git: Git,
  folder: string,
  { from, previous, commit }: { from: string | null; previous: string; commit: string },
): Promise<void> {
  const common = await git.try(folder, ['merge-base', previous, commit], NO_REPLACEMENTS);
  const since = from ?? (common.failed ? previous : common.stdout.trim());
  const embedded = await embeddedRepositories(git, folder, since, commit);
  if (embedded.length > 0)
    throw new Rejection('merge_refused', `Nothing was merged: ${embeddedRepositoriesText(embedded)}`);
}

async function squash(
  git: Git,
  folder: string,
  { previous, commit }: MergeAttempt,
  since: string | null,
): Promise<{ tree: string; conflicts: string[] }> {
  if (since === null) return requireMergedTree(git, folder, previous, commit);
  const tree = await git.must(folder, ['rev-parse', '--verify', `${previous}^{tree}`], NO_REPLACEMENTS);
  return mergeOnto(git, folder, { base: since, tree, theirs: commit });
}

/** Counts the commits and files of `commit` that neither `previous` nor `since` has. */
export async function countMissing(
  git: Git,
  folder: string,
  { previous, commit, since = null }: { previous: string; commit: string; since?: string | null },
): Promise<Pick<MergeOutcome, 'commits' | 'files'>> {
  const not = since === null ? [] : [`^${since}`];
  const commits = await git.must(folder, ['rev-list', '--count', `${previous}..${commit}`, ...not], NO_REPLACEMENTS);
  const common = await git.try(folder, ['merge-base', previous, commit], NO_REPLACEMENTS);
  const base = since ?? (common.failed ? null : common.stdout.trim());
  return { commits: Number(commits), files: base === null ? 0 : await countFiles(git, folder, base, commit) };
}

async function countFiles(git: Git, folder: string, from: string, to: string): Promise<number> {
  const args = ['diff-tree', '-r', '--find-renames', '--name-only', '-z', from, to];
  return (await git.must(folder, args, NO_REPLACEMENTS)).split('\0').filter((name) => name !== '').length;
}

export function conflict(
  { branch }: Pick<Worktree, 'branch'>,
  into: string,
  { conflicts, stoppedAt }: Pick<MergeOutcome, 'conflicts' | 'stoppedAt'>,
): Rejection {
  const where =
    stoppedAt === null
      ? `${branch} conflicts with ${into} in`
      : `${stoppedAt.commit.slice(0, 7)} (${stoppedAt.subject}) on ${branch} conflicts with ${into} in`;
  const next = stoppedAt === null ? `merge ${into} into its branch` : `rebase its branch onto ${into}`;
  const message = `${where} ${conflicts.join(', ')}. Nothing was merged. Have Claude ${next} first.`;
  return new Rejection('merge_conflict', message);
}

/**
 * Returns the newest recorded squash or rebase that `into` still has and `head` builds on: all of the branch's work up to the
 * merge's `head` is in `into`. Null if there is none.
 */
export async function newestMerge(
  git: Git,
  folder: string,
  { merges = [] }: Pick<Worktree, 'merges'>,
  { into, head }: { into: string; head: string },
): Promise<StageMerge | null> {
  for (const merge of [...merges].reverse())
    if ((await isIn(git, folder, merge.commit, into)) && (await isIn(git, folder, merge.head, head))) return merge;
  return null;
}

/** Whether a commit is another one, or comes before it. */
export const isIn = async (git: Git, folder: string, commit: string, other: string): Promise<boolean> =>
  !(await git.try(folder, ['merge-base', '--is-ancestor', commit, other], NO_REPLACEMENTS)).failed;

/** A commit whose changes are applied on top of others. */
export interface ReplayedCommit {
  commit: string;
  /** The commit before it, and the tree of all files once it is applied. */
  parent: string;
  tree: string;
}

/** What a rebase would make. */
export interface Replay {
  commits: ReplayedCommit[];
  /** The tree of all files at the end; up to the conflict if there is one. */
  tree: string;
  conflicts: string[];
  stoppedAt: { commit: string; subject: string } | null;
}

/** What to rebase: the commits of `head` that neither `onto` nor `since` has. */
export interface ReplayRange {
  onto: string;
  head: string;
  since: string | null;
}

/**
 * Applies commits one by one to the newest of another branch, as `git rebase` does: without merge commits and without what the
 * other branch has already; commits that change nothing are left out. Only adds objects.
 * @throws Rejection `merge_refused`; OperationalError `worktree_failed`
 */
async function replay(git: Git, folder: string, range: ReplayRange): Promise<Replay> {
  const treeOf = (commit: string) => git.must(folder, ['rev-parse', '--verify', `${commit}^{tree}`], NO_REPLACEMENTS);
  const original = new Map<string, string>();
  const made: Replay = { commits: [], tree: await treeOf(range.onto), conflicts: [], stoppedAt: null };
  for (const { commit, tree, parent, subject } of await listCommits(git, folder, range)) {
    if (parent === undefined) {
      const message = `${commit.slice(0, 7)} (${subject}) has no commit before it, so it cannot be rebased. Merge or squash the branch instead.`;
      throw new Rejection('merge_refused', message);
    }
    original.set(commit, tree);
    const before = original.get(parent) ?? (await treeOf(parent));
    if (tree === before || tree === made.tree) continue;
    let now = tree;
    if (before !== made.tree) {
      const merged = await mergeOnto(git, folder, { base: parent, tree: made.tree, theirs: commit });
      if (merged.conflicts.length > 0)
        return { ...made, conflicts: merged.conflicts, stoppedAt: { commit, subject: subject.slice(0, 200) } };
      now = merged.tree;
    }
    if (now === made.tree) continue;
    made.commits.push({ commit, parent, tree: now });
    made.tree = now;
  }
  return made;
}

interface Listed {
  commit: string;
  tree: string;
  parent: string | undefined;
  subject: string;
}

async function listCommits(git: Git, folder: string, { onto, head, since }: ReplayRange): Promise<Listed[]> {
  const which = ['--reverse', '--topo-order', '--no-merges', '--cherry-pick', '--right-only'];
  const not = since === null ? [] : [`^${since}`];
  const args = ['rev-list', ...which, '--format=%T%x00%P%x00%s', `${onto}...${head}`, ...not];
  const lines = (await git.must(folder, args, NO_REPLACEMENTS)).split('\n').filter((line) => line !== '');
  const listed: Listed[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const [tree = '', parents = '', subject = ''] = (lines[at + 1] ?? '').split('\0');
    const parent = parents.split(' ')[0] || undefined;
    listed.push({ commit: (lines[at] ?? '').replace(/^commit /, ''), tree, parent, subject });
  }
  return listed;
}

/** The result of a merge of two commits that nothing was checked out for. */
export interface ThreeWayMerge {
  /** The merged tree; null if git cannot tell without merging, and then `failure` is git's reason. */
  tree: string | null;
  conflicts: string[];
  failure: string;
}

/** Merges two commits into a tree; only adds objects. Needs git 2.38. */
async function mergeTrees(git: Git, folder: string, ours: string, theirs: string): Promise<ThreeWayMerge> {
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', ours, theirs];
  const tried = await git.try(folder, args, NO_REPLACEMENTS);
  const [tree = '', ...files] = tried.stdout.trim().split('\n');
  if (!/^[0-9a-f]{40,}$/.test(tree)) return { tree: null, conflicts: [], failure: tried.stderr };
  return { tree, conflicts: tried.failed ? files : [], failure: '' };
}

/**
 * As `mergeTrees`, with a tree instead of our commit, and with `base` as the common ancestor, which `theirs` must descend from.
 * @throws Rejection `merge_refused` if git cannot do that
 */
async function mergeOnto(
  git: Git,
  folder: string,
  { base, tree, theirs }: { base: string; tree: string; theirs: string },
): Promise<{ tree: string; conflicts: string[] }> {
  const env = { ...NO_REPLACEMENTS, ...TRIAL_COMMIT };
  const ours = await git.must(folder, ['commit-tree', tree, '-p', base, '-m', 'The target'], env);
  return requireMergedTree(git, folder, ours, theirs);
}

/** As `mergeTrees`. @throws Rejection `merge_refused` if git cannot merge without a checkout */
async function requireMergedTree(
  git: Git,
  folder: string,
  ours: string,
  theirs: string,
): Promise<{ tree: string; conflicts: string[] }> {
  const { tree, conflicts, failure } = await mergeTrees(git, folder, ours, theirs);
  if (tree !== null) return { tree, conflicts };
  const { stdout } = await git.try(folder, ['version']);
  const [, major = '2', minor = '38'] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
  const isOld = Number(major) < 2 || (Number(major) === 2 && Number(minor) < 38);
  const message = isOld
    ? 'To squash or rebase, Callboard needs git 2.38 or newer. Merge with a merge commit, or update git.'
    : `git could not try the merge: ${failure.trim()}`;
  throw new Rejection('merge_refused', message);
}
