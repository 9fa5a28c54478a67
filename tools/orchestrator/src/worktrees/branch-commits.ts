import type { BranchCommit, Worktree } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Git } from './git/git.ts';

const MAX_COMMITS = 100;

/** Fields end with a NUL, which no field can contain. */
const FORMAT = '%H%x00%an%x00%aI%x00%s%x00';

/** Returns the branch's commits since the base, newest first. */
export async function branchCommits(
  git: Git,
  { path }: Worktree,
  { base, head }: { base: string; head: string },
): Promise<BranchCommit[]> {
  const range = ['--first-parent', `--max-count=${MAX_COMMITS}`, `${base}..${head}`, '--'];
  const { failed, stdout } = await git.try(path, [
    'log',
    '--no-show-signature',
    `--format=tformat:${FORMAT}`,
    ...range,
  ]);
  if (failed) return []; // the base may be a tree, or gone
  const fields = stdout.split(/\0\n?/);
  return Array.from({ length: Math.floor(fields.length / 4) }, (_, n) => {
    const [id = '', author = '', at = '', subject = ''] = fields.slice(n * 4);
    return { id, author, at, subject };
  });
}

/**
 * Returns the trees before and after a commit; a merge is compared with its first parent.
 * @throws Rejection `head_moved` if there is no such commit
 */
export async function endsOfCommit(
  git: Git,
  { path }: Worktree,
  commit: string,
): Promise<{ base: string; tree: string }> {
  const found = await git.try(path, ['rev-parse', '--verify', '--quiet', `${commit}^{commit}^{tree}`]);
  if (found.failed) {
    throw new Rejection('head_moved', `The commit ${commit.slice(0, 7)} is no longer there. Reload the changes.`);
  }
  const parent = await git.try(path, ['rev-parse', '--verify', '--quiet', `${commit}^1^{commit}`]);
  const base = parent.failed ? await git.must(path, ['hash-object', '-t', 'tree', '/dev/null']) : parent.stdout.trim();
  return { base, tree: found.stdout.trim() };
}
