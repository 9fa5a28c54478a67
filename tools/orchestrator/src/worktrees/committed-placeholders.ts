import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Project, Worktree } from '@callboard/contract';
import { PLACEHOLDERS, placeholderText } from '../agent/sandbox-placeholders.ts';
import { Rejection } from '../lib/errors.ts';
import { pathExists } from '../lib/path-exists.ts';
import type { Git } from './git/git.ts';
import { createCommitMaker } from './make-commits.ts';

/** The ids of an empty file, in the two formats of repositories. */
const EMPTY = new Set([
  'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391',
  '473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813',
]);

/**
 * Returns the files that the stage's branch adds although they are only placeholders of Claude Code's sandbox: empty, and under
 * one of their names. A command that ran outside of the sandbox, or an older Callboard's, may have committed them.
 * @param head the commit or tree to look at; none are found if git cannot compare it
 */
export async function committedPlaceholders(
  git: Git,
  { path, base }: Pick<Worktree, 'path' | 'base'>,
  head: string,
): Promise<string[]> {
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--diff-filter=A', '--raw', base, head, '--', ...PLACEHOLDERS];
  const { failed, stdout } = await git.try(path, args);
  const fields = failed ? [] : stdout.split('\0');
  const found: string[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, , , object = ''] = (fields[at] ?? '').split(' ');
    if (EMPTY.has(object)) found.push(fields[at + 1] ?? '');
  }
  return found;
}

/** @throws Rejection `merge_refused` if a merge of this commit or tree would bring placeholders into the project */
export async function requireNoPlaceholders(git: Git, worktree: Worktree, head: string): Promise<void> {
  if (!(await pathExists(worktree.path))) return; // only the branch is left, and nobody can take anything out of it
  const found = await committedPlaceholders(git, worktree, head);
  const message = placeholderRefusal(found);
  if (message !== null) throw new Rejection('merge_refused', message);
}

/** Returns why a branch with these placeholders must not leave the stage; null without any. */
export const placeholderRefusal = (found: readonly string[]): string | null =>
  found.length === 0
    ? null
    : `${placeholderText(found)} Take them out first: the board offers that where the stage is completed.`;

const MESSAGE = "Take out the placeholders of Claude Code's sandbox\n\nThey were committed by mistake.\n";

/**
 * Commits on the stage's branch that these placeholders are gone; nothing else in the index or the worktree changes.
 * @returns the files that were taken out
 * @throws Rejection `commit_refused`; OperationalError `worktree_failed`
 */
export async function takeOutPlaceholders(git: Git, project: Project, worktree: Worktree): Promise<string[]> {
  const { path, branch } = worktree;
  if (!(await pathExists(path))) throw refused(`The worktree ${path} no longer exists.`);
  const ref = `refs/heads/${branch}`;
  const on = await git.try(path, ['symbolic-ref', '--quiet', 'HEAD']);
  if (on.stdout.trim() !== ref)
    throw refused(`The worktree ${path} is not on ${branch}. Check out ${branch} there first.`);
  const head = await git.must(path, ['rev-parse', '--verify', `${ref}^{commit}`]);
  const found = await committedPlaceholders(git, worktree, head);
  if (found.length === 0) return [];
  const tree = await withoutFiles(git, path, head, found);
  const commit = await createCommitMaker(git, project.path).squash({ tree, parents: [head], message: MESSAGE });
  // The index first: if git holds its lock, nothing has changed yet.
  const removed = await git.try(path, ['rm', '--cached', '--quiet', '--ignore-unmatch', '-f', '--', ...found]);
  if (removed.failed) throw refused(removed.stderr.trim());
  const moved = await git.try(path, ['update-ref', '-m', 'callboard: take out placeholders', ref, commit, head]);
  if (!moved.failed) return found;
  await git.try(path, ['reset', '--quiet', '--', ...found]);
  throw refused(`${branch} has got another commit meanwhile. Try again.`);
}

/** Returns the tree of a commit without these files, made in an index of its own. */
async function withoutFiles(git: Git, path: string, head: string, files: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-index-'));
  try {
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    await git.must(path, ['read-tree', head], env);
    await git.must(path, ['rm', '--cached', '--quiet', '-f', '--', ...files], env);
    return await git.must(path, ['write-tree'], env);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const refused = (words: string): Rejection => new Rejection('commit_refused', `${words} Nothing was committed.`);
