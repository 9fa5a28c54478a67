import { resolve } from 'node:path';
import type { ChangeCounts, DiffQuery, FileDiff, StageDiff, Worktree } from '@callboard/contract';
import { OperationalError, Rejection } from '../lib/errors.ts';
import { filePatch } from './file-patch.ts';
import type { Git } from './git/git.ts';
import { type ObjectStore, withObjectsOnlyGit } from './git/objects-only-git.ts';
import { isIn, newestMerge } from './recorded-merges.ts';
import { takeSnapshot } from './snapshot.ts';
import { type TreeChange, treeChanges } from './tree-changes.ts';

/** A stage's worktree, and the main checkout that its branch would be merged into. */
export interface DiffPlace {
  worktree: Worktree;
  checkout: string;
}

type Ends = Omit<StageDiff, 'files'>;

/**
 * Returns a worktree's changes: commits, uncommitted changes and new files together, from two trees alone. With a `path`,
 * returns that file with its patch. Stages nothing.
 * @throws OperationalError `worktree_failed`; Rejection `head_moved` if the requested trees no longer exist
 */
export async function diffOf(git: Git, place: DiffPlace, { path, base, tree }: DiffQuery = {}): Promise<StageDiff> {
  const about = await describeWorktree(git, place.worktree);
  const now = await endsOf(git, place, about, tree);
  const ends = { ...now, base: base ?? now.base };
  return withObjectsOnlyGit(git, about, async (plain) => {
    const changes = await treeChanges(plain, ends.base, ends.tree);
    if (changes === null) throw unknownEnds(ends, tree !== undefined || base !== undefined);
    if (path === undefined) return { ...ends, files: changes.map(withoutIds) };
    const files: FileDiff[] = [];
    for (const change of changes.filter((one) => one.path === path))
      files.push({ ...withoutIds(change), patch: await filePatch(plain, change) });
    return { ...ends, files };
  });
}

/** Counts a worktree's changes. Stages nothing. @throws OperationalError `worktree_failed` */
export async function countsOf(git: Git, place: DiffPlace): Promise<ChangeCounts> {
  const { files } = await diffOf(git, place);
  return {
    files: files.length,
    additions: files.reduce((sum, file) => sum + file.additions, 0),
    deletions: files.reduce((sum, file) => sum + file.deletions, 0),
  };
}

/** Returns the branch's newest commit, or the worktree's if the branch is gone. @throws OperationalError `worktree_failed` */
export async function headOf(git: Git, { path, branch }: Worktree): Promise<string> {
  const own = await git.try(path, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`]);
  return own.failed ? git.must(path, ['rev-parse', '--verify', 'HEAD^{commit}']) : own.stdout.trim();
}

/** Reads a worktree's object store, index and head in one call of git; the head is `HEAD` if the branch is gone. */
async function describeWorktree(
  git: Git,
  { path, branch }: Worktree,
): Promise<ObjectStore & { head: string; index: string }> {
  const ask = ['rev-parse', '--show-object-format', '--git-path', 'objects', '--git-path', 'index'];
  const own = await git.try(path, [...ask, `refs/heads/${branch}^{commit}`]);
  const told = own.failed ? await git.must(path, [...ask, 'HEAD^{commit}']) : own.stdout.trimEnd();
  const [format = '', objects = '', index = '', head = ''] = told.split('\n');
  return { format, objects: resolve(path, objects), index: resolve(path, index), head };
}

async function endsOf(
  git: Git,
  { worktree, checkout }: DiffPlace,
  { head, index }: { head: string; index: string },
  tree: string | undefined,
): Promise<Ends> {
  const { path, branch } = worktree;
  const taken = tree === undefined ? await takeSnapshot(git, path, index) : { tree, unread: [] };
  return { base: await baseOf(git, worktree, checkout, head), branch, head, ...taken };
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

function withoutIds({ oldId, newId, ...file }: TreeChange): FileDiff {
  return { ...file, version: `${oldId?.slice(0, 16) ?? ''}..${newId?.slice(0, 16) ?? ''}` };
}

function unknownEnds({ base, tree }: Ends, wasAsked: boolean): Error {
  if (!wasAsked) return new OperationalError('worktree_failed', `git cannot compare ${base} with ${tree}.`);
  const message = 'The files you were shown are no longer available. Reload the changes and look again.';
  return new Rejection('head_moved', message);
}
