import { NAMED_UNCOMMITTED, type Project, type Worktree } from '@callboard/contract';
import { committedPlaceholders, placeholderRefusal } from './committed-placeholders.ts';
import type { Git } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';
import { countMissing } from './merge-outcome.ts';
import { readContents, trialCommit, uncommittedFiles } from './merge-plan.ts';

/** A remote of the repository. */
export interface Remote {
  name: string;
  /** Its addresses: the one that git pushes to, then the configured one, which can differ by `url.<base>.insteadOf`. */
  urls: string[];
}

/** What a worktree has that the remote lacks. */
export interface PushPlan {
  branch: string;
  head: string;
  tree: string;
  /** The branch of the remote that the work is to go into; null if none is known. */
  base: string | null;
  remote: Remote | null;
  commits: number;
  unpushed: number;
  files: number;
  uncommitted: string[];
  uncommittedCount: number;
  /** Why the branch must not be pushed: it has placeholders of Claude Code's sandbox. Null without any. */
  placeholderRefusal: string | null;
  /** The first lines of the commits' messages, oldest first. */
  subjects: string[];
}

/** How many commits a drafted text lists. */
const LISTED = 50;

/**
 * Returns what pushing the stage's branch would bring to the remote, by what is known here of it. Changes nothing.
 * @param base the branch that the stage began at; null for that of the main checkout
 * @throws Rejection `merge_refused` if the worktree and its branch are gone; OperationalError `worktree_failed`
 */
export async function planPush(
  git: Git,
  project: Project,
  worktree: Worktree,
  wanted: string | null,
): Promise<PushPlan> {
  const contents = await readContents(git, project, worktree);
  const open = await uncommittedFiles(git, worktree, contents);
  const remote = await remoteOf(git, project);
  const base = await baseBranchOf(git, project, remote?.name ?? null, wanted);
  const { branch } = worktree;
  const { head, tree } = contents;
  const uncommitted = { uncommitted: open.slice(0, NAMED_UNCOMMITTED), uncommittedCount: open.length };
  const seen = { branch, head, tree, base, remote, ...uncommitted };
  const target = base === null ? worktree.base : await existingCommit(git, project.path, remote?.name ?? null, base);
  const commit = await trialCommit(git, worktree, contents);
  const counted = await countMissing(git, project.path, { previous: target ?? worktree.base, commit });
  const there = remote === null ? null : await refAt(git, project.path, `refs/remotes/${remote.name}/${branch}`);
  const ahead = ['rev-list', '--count', `${there ?? target ?? worktree.base}..${head}`];
  return {
    ...seen,
    placeholderRefusal: placeholderRefusal(
      contents.index === null ? [] : await committedPlaceholders(git, worktree, tree),
    ),
    files: counted.files,
    commits: Math.max(0, counted.commits - (open.length > 0 ? 1 : 0)), // the trial commit is none
    unpushed: Number(await git.must(project.path, ahead, NO_REPLACEMENTS)),
    subjects: await subjectsOf(git, project.path, target ?? worktree.base, head),
  };
}

async function subjectsOf(git: Git, path: string, from: string, head: string): Promise<string[]> {
  const args = ['rev-list', '--topo-order', '--no-merges', '--encoding=UTF-8', '--format=%s', '--no-commit-header'];
  const old = ['log', '--topo-order', '--no-merges', '--format=%s']; // `--no-commit-header` came with git 2.33
  const range = [`--max-count=${LISTED}`, `${from}..${head}`];
  const listed = await git.try(path, [...args, ...range], NO_REPLACEMENTS);
  const reported = listed.failed ? await git.must(path, [...old, ...range], NO_REPLACEMENTS) : listed.stdout;
  return reported
    .split('\n')
    .filter((line) => line !== '')
    .toReversed();
}

/** The remote to push to: the one that git would push to by default, `origin`, or the only one. */
export async function remoteOf(git: Git, { path }: Pick<Project, 'path'>): Promise<Remote | null> {
  const names = (await git.must(path, ['remote'])).split('\n').filter((name) => name !== '');
  const wanted = await git.try(path, ['config', '--get', 'remote.pushDefault']);
  const name = [wanted.stdout.trim(), 'origin', names[0]].find((one) => one !== undefined && names.includes(one));
  if (name === undefined) return null;
  const plain = await git.try(path, ['config', '--get', `remote.${name}.url`]);
  const used = await git.try(path, ['remote', 'get-url', '--push', name]);
  const urls = [used, plain].filter(({ failed }) => !failed).map(({ stdout }) => stdout.trim().split('\n')[0] ?? '');
  return { name, urls: [...new Set(urls)].filter((url) => url !== '') };
}

/** The branch to go into, as the remote calls it. A tag or a commit is none: then it is that of the main checkout. */
async function baseBranchOf(
  git: Git,
  { path }: Pick<Project, 'path'>,
  remote: string | null,
  wanted: string | null,
): Promise<string | null> {
  if (wanted !== null) {
    const ofRemote = remote !== null && wanted.startsWith(`${remote}/`) ? wanted.slice(remote.length + 1) : null;
    if (ofRemote !== null && (await refAt(git, path, `refs/remotes/${wanted}`)) !== null) return ofRemote;
    if ((await refAt(git, path, `refs/heads/${wanted}`)) !== null) return wanted;
  }
  const current = await git.try(path, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  if (!current.failed) return current.stdout.trim();
  if (remote === null) return null;
  const head = await git.try(path, ['symbolic-ref', '--short', '--quiet', `refs/remotes/${remote}/HEAD`]);
  return head.failed ? null : head.stdout.trim().slice(remote.length + 1);
}

/** The base's newest commit, by what was last fetched of it. */
async function existingCommit(git: Git, path: string, remote: string | null, base: string): Promise<string | null> {
  const fetched = remote === null ? null : await refAt(git, path, `refs/remotes/${remote}/${base}`);
  return fetched ?? refAt(git, path, `refs/heads/${base}`);
}

async function refAt(git: Git, path: string, ref: string): Promise<string | null> {
  const found = await git.try(path, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  return found.failed ? null : found.stdout.trim();
}
