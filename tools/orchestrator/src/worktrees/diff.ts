import type { DiffQuery, FileDiff, StageDiff, Worktree } from '@callboard/contract';
import { OperationalError, Rejection } from '../lib/errors.ts';
import { branchCommits, endsOfCommit } from './branch-commits.ts';
import { describeWorktree, type WorktreeFacts } from './describe-worktree.ts';
import { filePatch } from './file-patch.ts';
import type { GeneratedFiles } from './generated-files.ts';
import type { Git } from './git/git.ts';
import { withObjectsOnlyGit } from './git/objects-only-git.ts';
import { isIn, newestMerge } from './recorded-merges.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';
import { type TreeChange, treeChanges, versionOf } from './tree-changes.ts';

/** A stage's worktree, and the main checkout that its branch would be merged into. */
export interface DiffPosition {
  worktree: Worktree;
  checkout: string;
}

interface DiffDeps {
  git: Git;
  generated: GeneratedFiles;
}

type Ends = Omit<StageDiff, 'files' | 'commits'>;

/**
 * Returns a worktree's changes: commits, uncommitted changes and new files together, from two trees alone; or those of one
 * commit. With a `path`, returns that file with its patch. Stages nothing.
 * @throws OperationalError `worktree_failed`; Rejection `head_moved` if the requested trees no longer exist
 */
export async function diffOf(deps: DiffDeps, position: DiffPosition, query: DiffQuery = {}): Promise<StageDiff> {
  const { git } = deps;
  const { path, context = 'hunks' } = query;
  const about = await describeWorktree(git, position.worktree);
  const commit = query.range === undefined || query.range === 'turn' ? null : query.range;
  const { base, tree } = commit === null ? query : await endsOfCommit(git, position.worktree, commit);
  if (path === undefined && base === undefined && tree === undefined)
    return allChanges(deps, position, about, await takeSnapshot(git, position.worktree.path, about.index));
  const taken =
    tree === undefined ? await takeSnapshot(git, position.worktree.path, about.index) : { tree, unread: [] };
  const now = await endsOf(git, position, about, taken);
  const ends = { ...now, base: base ?? now.base };
  return withObjectsOnlyGit(git, about, async (plain) => {
    const changes = await treeChanges(plain, ends.base, ends.tree);
    if (changes === null) throw unknownEnds(ends, tree !== undefined || base !== undefined);
    if (path === undefined) return { ...ends, commits: [], files: await named(deps, position, now.base, changes) };
    const files: FileDiff[] = [];
    for (const change of changes.filter((one) => one.path === path))
      files.push({ ...toFile(change), patch: await filePatch(plain, change, context) });
    return { ...ends, commits: [], files };
  });
}

/** Does what `diffOf` does without a query, with files that were read already. @throws as `diffOf` */
export async function allChanges(
  deps: DiffDeps,
  position: DiffPosition,
  about: WorktreeFacts,
  taken: Snapshot,
): Promise<StageDiff> {
  const { git } = deps;
  const ends = await endsOf(git, position, about, taken);
  const commits = ends.base === about.head ? [] : await branchCommits(git, position.worktree, ends);
  const isUntouched = ends.base === about.at?.commit && ends.tree === about.at.tree;
  const changes = isUntouched
    ? []
    : await withObjectsOnlyGit(git, about, (plain) => treeChanges(plain, ends.base, ends.tree));
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
