import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CommitOrder, Project, SeenDiff, Worktree } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { pathExists } from '../lib/path-exists.ts';
import { embeddedRepositories, embeddedRepositoriesText } from './embedded-repositories.ts';
import type { Git } from './git/git.ts';
import { identityOptions, readContents, requireSeen, type WorktreeContents } from './merge-plan.ts';
import { prepareSigning, requireAgreedSigning } from './signing.ts';

/** @param output what git printed, which a page folds */
const refused = (text: string, output = ''): Rejection =>
  new Rejection('commit_refused', `${text} Nothing was committed.\n${output}`.trim());

/**
 * Throws unless everything in the worktree can be committed on its branch as it was shown.
 * @returns what is to be committed
 * @throws Rejection `head_moved`, `commit_refused`
 */
export async function requireCommittable(
  git: Git,
  project: Project,
  worktree: Worktree,
  seen: SeenDiff,
): Promise<WorktreeContents> {
  const { path, branch } = worktree;
  if (!(await pathExists(path))) throw refused(`The worktree ${path} no longer exists.`);
  const contents = await readContents(git, project, worktree);
  requireSeen(worktree, contents, seen);
  if (contents.tree === contents.committed) return contents;
  await requireAgreedSigning(git, path, 'commit_refused');
  const on = await git.try(path, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  if (on.stdout.trim() !== branch) {
    const place = on.failed ? 'on no branch' : `on ${on.stdout.trim()}`;
    throw refused(`The worktree ${path} is ${place}, not on ${branch}. Check out ${branch} there first.`);
  }
  // Git cannot add a repository without a commit; it reports it as a folder.
  const empty = contents.unread.filter((name) => name.endsWith('/')).map((name) => name.slice(0, -1));
  const embedded = [...(await embeddedRepositories(git, path, contents.committed, contents.tree)), ...empty];
  if (embedded.length > 0) throw refused(embeddedRepositoriesText(embedded));
  if (contents.unread.length > 0) throw refused(`git cannot read ${contents.unread.slice(0, 5).join(', ')}.`);
  const unmerged = await git.must(path, ['ls-files', '--unmerged', '--full-name', '-z']);
  if (unmerged !== '') throw refused(`A merge in ${path} has conflicts that are not resolved.`);
  const lock = `${contents.index}.lock`;
  if (!(await pathExists(lock))) return contents;
  throw refused(`Another git process is running in ${path}, or was killed there. If none is running, remove ${lock}.`);
}

/**
 * Commits everything in the worktree that git does not ignore, exactly as it was shown, on the stage's branch. Runs the hooks
 * that were agreed to. If it fails, the worktree and its index are as before.
 * @returns the branch's newest commit: the old one if there was nothing to commit
 * @throws Rejection `head_moved`, also if a hook changed what was committed; `commit_refused`
 */
export async function commitWorktree(
  git: Git,
  project: Project,
  worktree: Worktree,
  { message, ...seen }: CommitOrder & SeenDiff,
): Promise<string> {
  const { head, tree, committed, index } = await requireCommittable(git, project, worktree, seen);
  if (tree === committed || index === null) return head;
  const { path } = worktree;
  const signing = await prepareSigning(git, path, 'commit_refused');
  const folder = await mkdtemp(join(tmpdir(), 'callboard-index-'));
  try {
    const saved = join(folder, 'index');
    const hadIndex = await copyFile(index, saved).then(
      () => true,
      () => false,
    );
    const restore = async () => {
      if (!hadIndex) return;
      // Beside the index first, so that it is replaced at once.
      const beside = join(dirname(index), 'callboard-index');
      await copyFile(saved, beside);
      await rename(beside, index);
    };
    await git.must(path, ['read-tree', '--reset', tree]);
    const options = [...(await identityOptions(git, path)), ...(signing?.options ?? [])];
    const done = await git.try(
      path,
      [...options, 'commit', '--quiet', ...AS_WRITTEN, '-m', message],
      signing?.env,
      signing?.timeoutMs,
    );
    const now = await git.must(path, ['rev-parse', '--verify', 'HEAD^{commit}']);
    if (now === head) {
      await restore();
      const why = await signing?.explain(done);
      if (why != null) throw refused(why.split('\n')[0] ?? '', why.split('\n').slice(1).join('\n'));
      const how = done.wasKilled
        ? 'Git was killed while it committed.'
        : 'Git, or a hook of the repository, refused the commit.';
      throw refused(how, [done.stderr, done.stdout].join('\n'));
    }
    await requireAsShown(git, path, now, tree);
    return now;
  } finally {
    await signing?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Configured otherwise, git would drop lines of the person's message that begin with "#", for example "#12 Fix the login". */
const AS_WRITTEN = ['--cleanup=whitespace'];

async function requireAsShown(git: Git, path: string, commit: string, tree: string): Promise<void> {
  if ((await git.must(path, ['rev-parse', '--verify', `${commit}^{tree}`])) === tree) return;
  const message = `Committed as ${commit.slice(0, 7)}, but a hook of the repository changed what was committed. Nothing was merged. Look at the changes again, then merge.`;
  throw new Rejection('head_moved', message);
}
