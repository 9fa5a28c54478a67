import type { Project, Worktree } from '@callboard/contract';
import { pathExists } from '../lib/path-exists.ts';
import type { Git, GitResult } from './git/git.ts';

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
export async function pushBranch(
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
