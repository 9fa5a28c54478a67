import type { Project, Worktree } from '@callboard/contract';
import { requireOnBranch } from './elsewhere.ts';
import type { Git, GuardedGit } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';
import type { Merged } from './merge.ts';
import { countMissing } from './merge-outcome.ts';
import { identityOptions, readContents } from './merge-plan.ts';
import { type Pushed, type PushOrder, pushBranch } from './push.ts';
import { type PushPlan, planPush, type Remote, remoteOf } from './push-plan.ts';

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
