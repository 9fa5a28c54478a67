import { NAMED_UNCOMMITTED, type Project, type Worktree } from '@callboard/contract';
import { pathExists } from '../../platform/files.ts';
import type { Git, GitResult, GuardedGit } from '../../platform/git/git.ts';
import { NO_REPLACEMENTS } from '../../platform/git/run-git.ts';
import { committedPlaceholders, placeholderRefusal } from './commit-worktree.ts';
import type { Merged } from './merge.ts';
import { countMissing, identityOptions, readContents, trialCommit, uncommittedFiles } from './merge-plan.ts';
import { requireOnBranch } from './off-branch.ts';

/** Takes a stage's branch to the repository's remote, and tells what came back of it. */
export interface Publishing {
  /** Returns what pushing would bring to the remote. @throws as `planPush`; Rejection `branch_left` */
  planPush(project: Project, worktree: Worktree, base: string | null): Promise<PushPlan>;
  /** Returns the remote that `planPush` would push to; null if there is none. @throws OperationalError `worktree_failed` */
  remote(project: Pick<Project, 'path'>): Promise<Remote | null>;
  /** Fetches a branch and returns the commit that was pushed last; null if the remote has no such branch. `hasBase`: it follows on that commit. */
  fetchPushed(project: Pick<Project, 'path'>, work: Pick<Worktree, 'branch' | 'base'>): Promise<PushedWork | null>;
  /** Pushes one commit to one branch, never by force. Never rejects but for a bug. */
  push(project: Project, worktree: Worktree, order: PushOrder, signal: AbortSignal): Promise<Pushed>;
  /** Writes a note about a commit into `refs/notes/callboard`, in place of an earlier one. @throws OperationalError `worktree_failed` */
  addNote(project: Project, commit: string, text: string): Promise<void>;
  /** Returns what a pull request brought in when it was merged on the remote. @throws OperationalError `worktree_failed` */
  mergedThere(project: Project, worktree: Worktree, there: MergedThere): Promise<MergedElsewhere>;
}

/** The work of a stage as the remote has it. */
export interface PushedWork {
  commit: string;
  hasBase: boolean;
}

/** A pull request that was merged. */
export interface MergedThere {
  number: number;
  /** Its newest commit, and the commit that brought it in. */
  head: string;
  commit: string;
  into: string;
}

export interface MergedElsewhere {
  merged: Merged;
  /** Whether the stage has commits or files that were not merged. */
  hasMore: boolean;
}

/** A hook that runs before a push may take minutes, and so may many files. */
const PUSH_MS = 10 * 60_000;

export const publishing = (git: GuardedGit): Publishing => ({
  async planPush(project, worktree, base) {
    await requireOnBranch(git, project, worktree);
    return planPush(git, project, worktree, base);
  },
  remote: (project) => remoteOf(git, project),
  push: (project, worktree, order, signal) => pushBranch(git.until(signal, PUSH_MS), project, worktree, order),
  fetchPushed: (project, work) => fetchPushed(git, project, work),
  addNote: (project, commit, text) => addNote(git, project, commit, text),
  mergedThere: (project, worktree, there) => mergedThere(git, project, worktree, there),
});

/** A note changes no commit and no checkout. */
async function addNote(git: Git, { path }: Project, commit: string, text: string): Promise<void> {
  const identity = await identityOptions(git, path);
  await git.must(path, [...identity, 'notes', '--ref=callboard', 'add', '--force', '--message', text, commit]);
}

/** Without a connection, what was fetched last counts. */
async function fetchPushed(
  git: Git,
  { path }: Pick<Project, 'path'>,
  { branch, base }: Pick<Worktree, 'branch' | 'base'>,
): Promise<PushedWork | null> {
  const remote = await remoteOf(git, { path });
  if (remote === null) return null;
  const ref = `refs/remotes/${remote.name}/${branch}`;
  const refspec = `+refs/heads/${branch}:${ref}`;
  await git.try(path, ['fetch', '--quiet', '--no-write-fetch-head', '--', remote.name, refspec]);
  const found = await git.try(path, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  if (found.failed) return null;
  const commit = found.stdout.trim();
  const hasBase = !(await git.try(path, ['merge-base', '--is-ancestor', base, commit])).failed;
  return { commit, hasBase };
}

async function mergedThere(
  git: Git,
  project: Project,
  worktree: Worktree,
  { number, head, commit, into }: MergedThere,
): Promise<MergedElsewhere> {
  const contents = await readContents(git, project, worktree);
  const known = !(await git.try(project.path, ['cat-file', '-e', `${head}^{commit}`])).failed;
  const counts = await countMissing(git, project.path, {
    previous: worktree.base,
    commit: known ? head : contents.head,
  });
  const more = known
    ? await git.must(project.path, ['rev-list', '--count', `${head}..${contents.head}`], NO_REPLACEMENTS)
    : '0'; // somebody has pushed more there
  const { branch } = worktree;
  return {
    merged: {
      method: 'merge',
      commit,
      into,
      branch,
      previous: null,
      pullRequest: number,
      ...counts,
      head: known ? head : contents.head,
    },
    hasMore: Number(more) > 0 || contents.tree !== contents.committed,
  };
}

/** Why git did not push. */
export type PushFailure =
  /** The remote's branch has commits that ours lacks. */
  | 'behind'
  /** A rule or a hook of the remote refuses it. */
  | 'refused'
  /** Our own `pre-push` hook refuses it. */
  | 'hook'
  | 'no-login'
  | 'no-access'
  | 'not-found'
  | 'unreachable'
  | 'timed-out'
  | 'unknown';

/** `failure` is null if the remote's branch now is at the commit. */
export interface Pushed {
  failure: PushFailure | null;
  /** What git, the hook or the remote said. */
  output: string;
}

/** The commit to push, and where to. */
export interface PushOrder {
  remote: string;
  head: string;
  branch: string;
  /** Variables for git, by which it can be found. */
  marker: Readonly<Record<string, string>>;
}

/** Ssh and git must fail where a person would have to type something: nobody sees their question. */
const UNASKED = { SSH_ASKPASS: 'false', SSH_ASKPASS_REQUIRE: 'force', LC_ALL: 'C' };

/** Pushes exactly one commit to a branch of the remote, and never forces it. Runs the `pre-push` hook if it was agreed to. */
async function pushBranch(
  git: Git,
  project: Pick<Project, 'path'>,
  worktree: Worktree,
  { remote, head, branch, marker }: PushOrder,
): Promise<Pushed> {
  const folder = (await pathExists(worktree.path)) ? worktree.path : project.path;
  const args = ['push', '--porcelain', '--no-follow-tags', '--recurse-submodules=no', '--', remote];
  const result = await git.try(folder, [...args, `${head}:refs/heads/${branch}`], { ...UNASKED, ...marker });
  return readPush(result);
}

const CAUSES: readonly [PushFailure, RegExp][] = [
  ['behind', /\[rejected\].*\((?:non-fast-forward|fetch first)\)|stale info/i],
  ['refused', /\[remote rejected\]|protected branch|GH006|hook declined/i],
  [
    'no-login',
    /could not read (?:Username|Password)|Authentication failed|invalid credentials|askpass|terminal prompts disabled|HTTP 401/i,
  ],
  [
    'no-access',
    /Permission (?:to .* )?denied|Permission denied \(|The requested URL returned error: 403|Write access to repository not granted|Host key verification failed|insufficient permission/i,
  ],
  ['not-found', /Repository not found|does not appear to be a git repository|returned error: 404|not found/i],
  [
    'unreachable',
    /Could not resolve host|Could not resolve hostname|Connection (?:refused|timed out|reset)|Failed to connect|unable to access|Network is unreachable|Operation timed out/i,
  ],
  ['hook', /failed to push some refs/i],
];

/** Tells from what git printed why it did not push. */
export function readPush({ failed, wasKilled, stdout, stderr }: GitResult): Pushed {
  const output = [stderr, stdout]
    .join('\n')
    .split('\n')
    .filter((line) => line.trim() !== '' && line !== 'Done' && !line.startsWith('To '))
    .join('\n');
  if (!failed) return { failure: null, output };
  if (wasKilled) return { failure: 'timed-out', output };
  const found = CAUSES.find(([, pattern]) => pattern.test(output));
  return { failure: found?.[0] ?? 'unknown', output };
}

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
async function planPush(git: Git, project: Project, worktree: Worktree, wanted: string | null): Promise<PushPlan> {
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
async function remoteOf(git: Git, { path }: Pick<Project, 'path'>): Promise<Remote | null> {
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
