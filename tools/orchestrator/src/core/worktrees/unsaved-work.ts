import { lstatSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { NotSaved, Project, StageId, UnreferencedWork, Worktree } from '@callboard/contract';
import { mapInSlices } from '../../lib/async.ts';
import { pathExists } from '../../platform/files.ts';
import type { Git } from '../../platform/git/git.ts';
import { entryOf } from '../../platform/git/locate-checkout.ts';
import { NO_REPLACEMENTS, nestedRepositories } from '../../platform/git/run-git.ts';
import { AS_CALLBOARD, isIn, TRIAL_COMMIT } from './merge-plan.ts';
import { type CommitWithTree, type IndexCopy, snapshotOf, type WorktreeFacts, withIndexCopy } from './snapshot.ts';

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

/** What only a worktree reaches: its `HEAD` outside of branches, its reflog, and what a half-done rebase has put aside. */
export interface Loose {
  /** What a person is told; null if there is nothing to tell. */
  told: UnreferencedWork | null;
  /** The commit that the worktree is at; null if it has none, or git does not know the worktree. */
  head: string | null;
  /** The branch that it is on; null if it is on none. */
  branch: string | null;
  /** The commits from which all of it is reachable. */
  tips: readonly string[];
  /** How many commits are not reachable from `head`. */
  earlier: number;
}

const NONE: Loose = { told: null, head: null, branch: null, tips: [], earlier: 0 };

/** A command line is limited in length. */
const MAX_ROOTS = 20_000;

/**
 * Returns what would be reachable from nothing once the worktree is gone, and with it its branch if that `goes`. The folder of the
 * worktree need not exist. @throws OperationalError `worktree_failed`
 */
export async function unreferencedWork(
  git: Git,
  project: Pick<Project, 'path'>,
  worktree: Worktree,
  { branchGoes, stageId }: { branchGoes: boolean; stageId?: StageId | undefined },
): Promise<Loose> {
  const { path } = project;
  if (!(await pathExists(path))) return NONE;
  const entry = entryOf(path, worktree.path);
  const own = entry === null ? 'refs/callboard/none' : `worktrees/${basename(entry)}/HEAD`;
  const at = await git.try(path, ['rev-parse', '--verify', '--quiet', `${own}^{commit}`]);
  const on = await git.try(path, ['symbolic-ref', '--quiet', own]);
  const head = at.failed ? null : at.stdout.trim();
  const branch = on.failed ? null : on.stdout.trim().replace(/^refs\/heads\//, '');
  const moves = await reflog(git, path, own);
  const earlier = [...moves, ...(await reflog(git, path, `refs/heads/${worktree.branch}`))];
  const pending = entry === null ? [] : [...pendingCommits(entry), ...(await ownRefs(git, worktree))];
  const now = [...(head === null ? [] : [head]), ...pending];
  const between = stageId === undefined ? [] : await headsBetweenTurns(git, path, stageId);
  const roots = [...new Set([...now, ...earlier.map(({ commit }) => commit), ...between])].slice(0, MAX_ROOTS);
  const staying = await whatStays(git, path, worktree, branchGoes);
  const lost = roots.length === 0 ? new Map<string, string[]>() : await commitsOf(git, path, [...roots, ...staying]);
  const isNow = reachable(lost, now);
  const names = namesIn(moves, branch).filter((name) => name !== worktree.branch);
  const branches = await unmergedBranches(git, path, names);
  const stashes = await stashesOf(git, path, [worktree.branch, ...names], new Set(earlier.map(({ commit }) => commit)));
  const reported: UnreferencedWork = {
    branch,
    commits: isNow.size,
    earlier: lost.size - isNow.size,
    operation: entry === null ? null : operationIn(entry),
    branches,
    stashes,
  };
  const isNothing = lost.size === 0 && branches.length === 0 && stashes.length === 0;
  const earlierCount = lost.size - reachable(lost, head === null ? [] : [head]).size;
  return { told: isNothing ? null : reported, head, branch, tips: tipsOf(lost), earlier: earlierCount };
}

/** What git has begun in a worktree and not ended. */
export function operationIn(entry: string): UnreferencedWork['operation'] {
  const has = (name: string) => textOf(join(entry, name)) !== undefined;
  if (has('rebase-merge/head-name') || has('rebase-merge/onto')) return 'rebase';
  if (has('rebase-apply/rebasing')) return 'rebase';
  if (has('rebase-apply/applying')) return 'am';
  if (has('MERGE_HEAD')) return 'merge';
  if (has('CHERRY_PICK_HEAD')) return 'cherry-pick';
  if (has('REVERT_HEAD')) return 'revert';
  return has('BISECT_LOG') ? 'bisect' : null;
}

/** Commits that git keeps in files while a rebase or a merge is half done: what it began at, and what it has put aside. */
const PENDING = [
  ...['rebase-merge/orig-head', 'rebase-merge/autostash', 'rebase-apply/orig-head', 'rebase-apply/autostash'],
  ...['MERGE_AUTOSTASH', 'MERGE_HEAD', 'CHERRY_PICK_HEAD', 'ORIG_HEAD'],
];

const pendingCommits = (entry: string): string[] =>
  PENDING.flatMap((name) => [...(textOf(join(entry, name)) ?? '').matchAll(/^[0-9a-f]{40,64}$/gm)].map(([id]) => id));

interface Move {
  commit: string;
  /** What git did. */
  text: string;
}

async function reflog(git: Git, path: string, name: string): Promise<Move[]> {
  const format = '--format=%H%x00%gs%x00';
  const reported = await git.try(path, ['log', '--walk-reflogs', '--no-show-signature', format, name, '--']);
  if (reported.failed) return []; // it is gone, or is not kept
  const fields = reported.stdout.split(/\0\n?/);
  return Array.from({ length: Math.floor(fields.length / 2) }, (_, n) => {
    const [commit = '', text = ''] = fields.slice(n * 2);
    return { commit, text };
  });
}

/** What the worktree was at between turns: known also after git has forgotten the worktree. */
async function headsBetweenTurns(git: Git, path: string, stageId: StageId): Promise<string[]> {
  const reported = await git.try(path, ['for-each-ref', '--format=%(parent)', `refs/callboard/turns/${stageId}/`]);
  return reported.failed ? [] : reported.stdout.split('\n').flatMap((parents) => parents.split(' ')[0] || []);
}

/** Refs that belong to the worktree alone. */
async function ownRefs(git: Git, { path }: Worktree): Promise<string[]> {
  if (!(await pathExists(join(path, '.git')))) return [];
  const list = ['for-each-ref', '--format=%(objectname)', 'refs/worktree', 'refs/bisect', 'refs/rewritten'];
  const reported = await git.try(path, list);
  return reported.failed ? [] : reported.stdout.split('\n').filter((id) => id !== '');
}

/** Options that exclude what stays reachable: other refs, and work that a squash or a rebase has brought in. */
async function whatStays(git: Git, path: string, worktree: Worktree, branchGoes: boolean): Promise<string[]> {
  const goes = branchGoes ? [`--exclude=refs/heads/${worktree.branch}`] : [];
  const merged: string[] = [];
  for (const { commit, head } of worktree.merges ?? [])
    if (await isIn(git, path, commit, 'HEAD')) merged.push(`^${head}`);
  // Without the first option, other worktrees count, and this one is among them.
  return [...merged, '--not', ...goes, '--exclude=refs/callboard/*', '--single-worktree', '--all'];
}

/** Returns commits with their parents. */
async function commitsOf(git: Git, path: string, revisions: readonly string[]): Promise<Map<string, string[]>> {
  const list = ['rev-list', '--parents', '--ignore-missing', ...revisions];
  const lines = (await git.must(path, list, NO_REPLACEMENTS)).split('\n').filter((line) => line !== '');
  return new Map(
    lines.map((line): [string, string[]] => {
      const [commit = '', ...parents] = line.split(' ');
      return [commit, parents];
    }),
  );
}

function reachable(commits: ReadonlyMap<string, string[]>, from: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const next = [...from];
  for (let id = next.pop(); id !== undefined; id = next.pop()) {
    const parents = seen.has(id) ? undefined : commits.get(id);
    if (parents === undefined) continue;
    seen.add(id);
    next.push(...parents);
  }
  return seen;
}

function tipsOf(commits: ReadonlyMap<string, string[]>): string[] {
  const inner = new Set([...commits.values()].flat());
  return [...commits.keys()].filter((id) => !inner.has(id));
}

/** The branches that a worktree was on, by its reflog. */
function namesIn(moves: readonly Move[], now: string | null): string[] {
  const names = moves.flatMap(({ text }) => {
    const [, from, to] = /^checkout: moving from (\S+) to (\S+)$/.exec(text) ?? [];
    const [, old, renamed] = /^Branch: renamed refs\/heads\/(\S+) to refs\/heads\/(\S+)$/.exec(text) ?? [];
    return [from, to, old, renamed].filter((name) => name !== undefined && name !== 'HEAD');
  });
  return [...new Set([...(now === null ? [] : [now]), ...names.filter((name) => name !== undefined)])];
}

/** Other branches that the worktree was on and that the main checkout's branch lacks commits of. They stay. */
async function unmergedBranches(
  git: Git,
  path: string,
  names: readonly string[],
): Promise<UnreferencedWork['branches']> {
  const found: UnreferencedWork['branches'] = [];
  for (const name of names) {
    const count = await git.try(path, ['rev-list', '--count', `refs/heads/${name}`, '--not', 'HEAD', '--']);
    const commits = count.failed ? 0 : Number(count.stdout.trim());
    if (commits > 0) found.push({ name, commits });
  }
  return found;
}

/** Stashes that were made in the worktree. All checkouts of a repository share the list, so they stay there. */
async function stashesOf(
  git: Git,
  path: string,
  branches: readonly string[],
  known: ReadonlySet<string>,
): Promise<string[]> {
  const reported = await git.try(path, [
    ...['log', '--walk-reflogs', '--no-show-signature', '--format=%P%x00%gs%x00', 'refs/stash', '--'],
  ]);
  if (reported.failed) return [];
  const fields = reported.stdout.split(/\0\n?/);
  return Array.from({ length: Math.floor(fields.length / 2) }, (_, n) => fields.slice(n * 2)).flatMap(
    ([parents = '', text = '']) => {
      const [, on = ''] = /^(?:WIP on|On) ([^:]+):/.exec(text) ?? [];
      const isOurs = on === '(no branch)' ? known.has(parents.split(' ')[0] ?? '') : branches.includes(on);
      return isOurs ? [text] : [];
    },
  );
}

/** How many parents a commit gets; more are joined in commits of their own. */
const MAX_PARENTS = 100;

/**
 * Makes a commit from which all the tips are reachable, with the tree of the first; nothing points at it yet. Its parents begin with
 * the worktree's commit, then the one of its index, as those of a kept worktree do.
 * @throws OperationalError `worktree_failed`
 */
export async function joinTips(
  git: Git,
  path: string,
  { head, tips, message }: { head: string; tips: readonly string[]; message: string },
): Promise<string> {
  const tree = `${head}^{tree}`;
  const others = await joined(git, path, { tree, tips: tips.filter((id) => id !== head), message });
  if (others === null) return commitWith(git, path, { tree, parents: [head], message });
  const index = await commitWith(git, path, { tree, parents: [head], message: `${message} (index)` });
  return commitWith(git, path, { tree, parents: [head, index, others], message });
}

/** Returns a commit that has these as its parents; null if there are none. */
async function joined(
  git: Git,
  path: string,
  { tree, tips, message }: { tree: string; tips: readonly string[]; message: string },
): Promise<string | null> {
  let rest = [...tips];
  let made: string | null = null;
  while (rest.length > 0) {
    const parents: string[] = [...(made === null ? [] : [made]), ...rest.slice(0, MAX_PARENTS)];
    made = await commitWith(git, path, { tree, parents, message: `${message} (earlier commits)` });
    rest = rest.slice(MAX_PARENTS);
  }
  return made;
}

async function commitWith(
  git: Git,
  path: string,
  { tree, parents, message }: { tree: string; parents: readonly string[]; message: string },
): Promise<string> {
  const id = await git.must(path, ['rev-parse', '--verify', tree]);
  const args = ['commit-tree', id, ...parents.flatMap((one) => ['-p', one]), '-m', message];
  return git.must(path, args, TRIAL_COMMIT);
}

const MAX_LENGTH = 64 * 1024;

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').slice(0, MAX_LENGTH);
  } catch {
    return undefined;
  }
}
