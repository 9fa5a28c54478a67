import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Project, StageId, UnreferencedWork, Worktree } from '@callboard/contract';
import { pathExists } from '../lib/path-exists.ts';
import type { Git } from './git/git.ts';
import { entryOf } from './git/locate-checkout.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';
import { TRIAL_COMMIT } from './merge-plan.ts';
import { isIn } from './recorded-merges.ts';

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
export async function joined(
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
