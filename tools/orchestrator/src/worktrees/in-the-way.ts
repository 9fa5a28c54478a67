import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { Rejection } from '../lib/errors.ts';
import type { Git } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';
import { withIndexCopy } from './index-copy.ts';
import type { MergeOutcome } from './merge-outcome.ts';
import { namedFiles } from './merge-plan.ts';

/** Files of a person that a move of their checkout would overwrite, and that `git status` does not show or git does not protect. */
interface InTheWay {
  /** Untracked files, also ignored ones, where the move would write one. */
  untracked: string[];
  /** Changed files that git was told to take for unchanged (`assume-unchanged`, `skip-worktree`). */
  hidden: string[];
}

/** The limit of paths in one call of git, since command lines are limited in length. */
const PATHS_PER_CALL = 500;

/**
 * Finds a person's files that are in the way of a move of the checkout from its commit to another tree.
 * @throws OperationalError `worktree_failed`
 */
async function findInTheWay(git: Git, checkout: string, from: string, to: string): Promise<InTheWay> {
  const list = ['diff-tree', '-r', '-z', '--no-renames', '--name-status', from, to];
  const fields = (await git.must(checkout, list, NO_REPLACEMENTS)).split('\0');
  const added: string[] = [];
  const changed = new Set<string>();
  for (let at = 0; at + 1 < fields.length; at += 2)
    if (fields[at] === 'A') added.push(fields[at + 1] ?? '');
    else changed.add(fields[at + 1] ?? '');
  const flags = new Map<string, string>();
  for (const line of (await git.must(checkout, ['ls-files', '-v', '-z'])).split('\0'))
    flags.set(line.slice(2), line.charAt(0));
  const isHidden = (letter = '') => letter.toUpperCase() === 'S' || (letter >= 'a' && letter <= 'z');
  const hidden = [...changed].filter((path) => isHidden(flags.get(path)));
  return {
    untracked: await findUntracked(git, checkout, added, flags),
    hidden: hidden.length === 0 ? [] : await findChanged(git, checkout, hidden),
  };
}

/** @param tracked what is in the index */
async function findUntracked(
  git: Git,
  checkout: string,
  added: readonly string[],
  tracked: ReadonlyMap<string, string>,
): Promise<string[]> {
  const kinds = new Map<string, Promise<'none' | 'folder' | 'file'>>();
  const kindOf = (path: string) => {
    const known = kinds.get(path) ?? readKind(join(checkout, path));
    kinds.set(path, known);
    return known;
  };
  const found = new Set<string>();
  const folders: string[] = [];
  for (const path of added) {
    const parts = path.split('/');
    for (let depth = 1; depth <= parts.length; depth++) {
      const above = parts.slice(0, depth).join('/');
      const kind = await kindOf(above);
      if (kind === 'folder' && depth === parts.length) folders.push(path);
      if (kind === 'folder') continue;
      // A file or a link where the move needs a folder, or another file. Git follows no link to a folder.
      if (kind === 'file' && !tracked.has(above)) found.add(above);
      break;
    }
  }
  // A folder that becomes a file: git removes the ignored files in it.
  for (const folder of folders) {
    const inside = ['--literal-pathspecs', 'ls-files', '--others', '-z', '--', `${folder}/`];
    for (const path of (await git.must(checkout, inside)).split('\0')) if (path !== '') found.add(path);
  }
  return [...found];
}

async function readKind(path: string): Promise<'none' | 'folder' | 'file'> {
  const info = await lstat(path).catch(() => null);
  if (info === null) return 'none';
  return info.isDirectory() ? 'folder' : 'file';
}

/** Returns those of the files that are there and have changed, whatever git was told about them. */
const findChanged = (git: Git, checkout: string, paths: readonly string[]): Promise<string[]> =>
  withIndexCopy(git, checkout, undefined, async ({ env }) => {
    await git.try(checkout, ['update-index', '-q', '--refresh'], env);
    const found: string[] = [];
    for (let at = 0; at < paths.length; at += PATHS_PER_CALL) {
      const chunk = paths.slice(at, at + PATHS_PER_CALL);
      const list = ['--literal-pathspecs', 'diff-files', '--name-only', '-z', '--', ...chunk];
      found.push(...(await git.must(checkout, list, env)).split('\0').filter((path) => path !== ''));
    }
    return found;
  });

/**
 * Returns why the checkout cannot be moved from its commit to another tree without losing a file of a person, and what to do;
 * null if it can.
 * @throws OperationalError `worktree_failed`
 */
export async function moveProblem(git: Git, checkout: string, from: string, to: string): Promise<string | null> {
  const { untracked, hidden } = await findInTheWay(git, checkout, from, to);
  if (untracked.length > 0)
    return `${untracked.length === 1 ? 'A file' : `${untracked.length} files`} in the main checkout at ${checkout} that git does not track would be overwritten (${namedFiles(untracked)}). Move or rename ${untracked.length === 1 ? 'it' : 'them'} first.`;
  if (hidden.length > 0)
    return `The main checkout at ${checkout} has changes that git was told to ignore (${namedFiles(hidden)}). Run \`git update-index --no-assume-unchanged --no-skip-worktree\` for ${hidden.length === 1 ? 'this file' : 'these files'} there, then commit or stash the changes.`;
  return null;
}

/**
 * Throws if a merge would overwrite a file of a person.
 * @throws Rejection `merge_refused` with the files; OperationalError `worktree_failed`
 */
export async function requireNothingInTheWay(
  git: Git,
  checkout: string,
  { previous, commit, outcome }: { previous: string; commit: string; outcome: MergeOutcome },
): Promise<void> {
  if (outcome.commits === 0 || outcome.conflicts.length > 0) return;
  // Git before 2.38 cannot tell the tree of a merge: what the branch has changed is close enough.
  const from = outcome.tree === null ? await git.must(checkout, ['merge-base', previous, commit]) : previous;
  const reason = await moveProblem(git, checkout, from, outcome.tree ?? commit);
  if (reason !== null) throw new Rejection('merge_refused', `${reason} Nothing was merged.`);
}
