import { chmod, copyFile, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CommitOrder, Project, SeenDiff, Worktree } from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { pathExists } from '../../platform/files.ts';
import type { Git, GitResult } from '../../platform/git/git.ts';
import { PLACEHOLDERS, placeholderText } from '../../platform/git/locate-checkout.ts';
import { NO_REPLACEMENTS } from '../../platform/git/run-git.ts';
import {
  embeddedRepositories,
  embeddedRepositoriesText,
  identityOptions,
  type ReplayedCommit,
  readContents,
  requireSeen,
  type WorktreeContents,
} from './merge-plan.ts';

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

/** How a commit is signed, as the person's git is set up. */
export interface Signing {
  /** Options of git itself, and variables, for the call that signs. */
  options: string[];
  env: Record<string, string>;
  timeoutMs: number;
  /** Returns what the signer did and said, if that is why the call failed; null otherwise. Ends what it has left running. */
  explain(result: GitResult): Promise<string | null>;
  /** Removes the files of it. */
  close(): Promise<void>;
}

/** The time limit in git's configuration, in seconds. */
const TIME_LIMIT = 'callboard.signTimeout';
const DEFAULT_SECONDS = 60;
/** Marks the signer and everything that it starts. */
const MARKER = 'CB_SIGNING';

/** The program of each `gpg.format`: the keys that name it, and what git runs without them. */
const SIGNERS: Readonly<Record<string, { keys: readonly string[]; usual: string }>> = {
  openpgp: { keys: ['gpg.openpgp.program', 'gpg.program'], usual: 'gpg' },
  x509: { keys: ['gpg.x509.program'], usual: 'gpgsm' },
  ssh: { keys: ['gpg.ssh.program'], usual: 'ssh-keygen' },
};

/**
 * Prepares the signature of a commit; null if git signs none. Git keeps what a signer says until that has ended, so the signer
 * runs through a script that writes it down as well.
 * @throws Rejection with the code if the repository asks for signatures and nobody has agreed to that
 */
async function prepareSigning(
  git: Git,
  folder: string,
  code: 'merge_refused' | 'commit_refused',
): Promise<Signing | null> {
  await requireAgreedSigning(git, folder, code);
  if (!(await isSet(git, folder, []))) return null;
  const get = async (key: string) => (await git.try(folder, ['config', '--get', key])).stdout.trim();
  const { keys, usual } = SIGNERS[(await get('gpg.format')) || 'openpgp'] ?? { keys: ['gpg.program'], usual: 'gpg' };
  const named = (await Promise.all(keys.map(get))).find((value) => value !== '');
  const program = named ?? usual;
  const limit = Number((await git.try(folder, ['config', '--type=int', '--get', TIME_LIMIT])).stdout.trim());
  const seconds = limit > 0 ? limit : DEFAULT_SECONDS;
  const own = await mkdtemp(join(tmpdir(), 'callboard-signing-'));
  const [script, text, status] = ['signer', 'words', 'status'].map((name) => join(own, name)) as [
    string,
    string,
    string,
  ];
  const call = program.startsWith('~/') ? `"$HOME"/${quoted(program.slice(2))}` : quoted(program);
  const lines = [
    '#!/bin/sh',
    `: > ${quoted(text)}`,
    `{ { ${call} "$@" 2>&1 >&3 3>&-; echo $? > ${quoted(status)}; } | tee -a ${quoted(text)} >&2; } 3>&1`,
    `exit "$(cat ${quoted(status)})"`,
  ];
  await writeFile(script, `${lines.join('\n')}\n`);
  await chmod(script, 0o700);
  return {
    options: keys.flatMap((key) => ['-c', `${key}=${script}`]),
    env: { [MARKER]: own },
    timeoutMs: seconds * 1_000,
    async explain({ wasKilled }) {
      const said = await readFile(text, 'utf8').catch(() => null);
      if (said === null) return null;
      const hasEnded = (await readFile(status, 'utf8').catch(() => '')) !== '';
      await endMarked(`${MARKER}=${own}`);
      const output = said
        .split('\n')
        .filter((line) => !line.startsWith('[GNUPG:]'))
        .join('\n')
        .trim();
      if (hasEnded && wasKilled) return null; // it was something else that took so long
      const what = hasEnded
        ? `The signer ${program} did not sign the commit.`
        : `The signer ${program} did not sign the commit within ${seconds} s, so it was ended. Unlock your key, or give it more time: git config --global ${TIME_LIMIT} 300`;
      return `${what}\n${output}`.trim();
    },
    close: () => rm(own, { recursive: true, force: true }),
  };
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Throws if the repository asks for signatures and nobody has agreed to that: git would make the commit without one.
 * @throws Rejection with the code
 */
export async function requireAgreedSigning(
  git: Git,
  folder: string,
  code: 'merge_refused' | 'commit_refused',
): Promise<void> {
  const asks = (await isSet(git, folder, ['--local'])) || (await isSet(git, folder, ['--worktree']));
  if (!asks || (await isSet(git, folder, []))) return;
  const message =
    'The repository asks for signed commits (commit.gpgSign), and nobody has agreed to that setting yet. Nothing was committed or merged. Agree to it on the project’s page, or remove it with "git config --unset-all commit.gpgSign".';
  throw new Rejection(code, message);
}

/** Whether commits are signed, by all settings or by those of one file. */
async function isSet(git: Git, folder: string, scope: readonly string[]): Promise<boolean> {
  const args = ['config', ...scope, '--includes', '--type=bool', '--get', 'commit.gpgSign'];
  return (await git.try(folder, args)).stdout.trim() === 'true';
}

/** Ends all processes with this variable. Needs `/proc`. */
async function endMarked(variable: string): Promise<void> {
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const variables = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (variables.split('\0').includes(variable)) tryToKill(Number(pid));
  }
}

function tryToKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended
  }
}

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
  if (!(await pathExists(path))) throw refusedRewrite(`The worktree ${path} no longer exists.`);
  const ref = `refs/heads/${branch}`;
  const on = await git.try(path, ['symbolic-ref', '--quiet', 'HEAD']);
  if (on.stdout.trim() !== ref)
    throw refusedRewrite(`The worktree ${path} is not on ${branch}. Check out ${branch} there first.`);
  const head = await git.must(path, ['rev-parse', '--verify', `${ref}^{commit}`]);
  const found = await committedPlaceholders(git, worktree, head);
  if (found.length === 0) return [];
  const tree = await withoutFiles(git, path, head, found);
  const commit = await createCommitMaker(git, project.path).squash({ tree, parents: [head], message: MESSAGE });
  // The index first: if git holds its lock, nothing has changed yet.
  const removed = await git.try(path, ['rm', '--cached', '--quiet', '--ignore-unmatch', '-f', '--', ...found]);
  if (removed.failed) throw refusedRewrite(removed.stderr.trim());
  const moved = await git.try(path, ['update-ref', '-m', 'callboard: take out placeholders', ref, commit, head]);
  if (!moved.failed) return found;
  await git.try(path, ['reset', '--quiet', '--', ...found]);
  throw refusedRewrite(`${branch} has got another commit meanwhile. Try again.`);
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

const refusedRewrite = (words: string): Rejection => new Rejection('commit_refused', `${words} Nothing was committed.`);

/** A commit that is to be made: of these files, after its parents. */
interface NewCommit {
  tree: string;
  parents: readonly string[];
  message: string;
  /** Variables that name another author. */
  author?: Record<string, string>;
}

/** Makes commits that nothing points at yet, as the person, signed if the configuration says so. */
export interface CommitMaker {
  /** Runs the hooks `prepare-commit-msg` and `commit-msg`, as `git merge` does. */
  merge(commit: Omit<NewCommit, 'author'>): Promise<string>;
  squash(commit: Omit<NewCommit, 'author'>): Promise<string>;
  /** Returns the newest commit. Authors, their dates and messages stay; a commit that would be the same is used as it is. */
  rebase(commits: readonly ReplayedCommit[], onto: string): Promise<string>;
}

/** @throws (all functions of the maker) Rejection `merge_refused` with git's reason, for example that it cannot sign */
export function createCommitMaker(git: Git, folder: string): CommitMaker {
  async function make(
    { tree, parents, message, author = {} }: NewCommit,
    edit: (file: string) => Promise<unknown> = async () => undefined,
  ): Promise<string> {
    const signing = await prepareSigning(git, folder, 'merge_refused');
    const temporary = await mkdtemp(join(tmpdir(), 'callboard-message-'));
    try {
      const file = join(temporary, 'message');
      await writeFile(file, message);
      await edit(file);
      const options = [
        ...(await identityOptions(git, folder)),
        '-c',
        'i18n.commitEncoding=UTF-8',
        ...(signing?.options ?? []),
      ];
      const sign = signing === null ? [] : ['-S'];
      const args = [
        ...options,
        'commit-tree',
        ...sign,
        tree,
        ...parents.flatMap((parent) => ['-p', parent]),
        '-F',
        file,
      ];
      const env = { ...NO_REPLACEMENTS, ...author, ...signing?.env };
      const made = await git.try(folder, args, env, signing?.timeoutMs);
      if (!made.failed) return made.stdout.trim();
      const why = await signing?.explain(made);
      if (why != null) throw new Rejection('merge_refused', `Nothing was merged. ${why}`);
      throw new Rejection(
        'merge_refused',
        `Git could not make the commit, so nothing was merged.\n${made.stderr}`.trim(),
      );
    } finally {
      await signing?.close();
      await rm(temporary, { recursive: true, force: true });
    }
  }

  async function runMessageHooks(file: string): Promise<void> {
    for (const [hook, ...args] of [['prepare-commit-msg', file, 'merge'] as const, ['commit-msg', file] as const]) {
      const ran = await git.try(folder, ['hook', 'run', '--ignore-missing', hook, '--', ...args]);
      if (!ran.failed) continue;
      const text = `The hook ${hook} refused the merge, so nothing was merged.\n${ran.stderr || ran.stdout}`;
      throw new Rejection('merge_refused', text.trim());
    }
  }

  return {
    merge: (commit) => make(commit, runMessageHooks),
    squash: (commit) => make(commit),
    async rebase(commits, onto) {
      let newest = onto;
      for (const { commit, parent, tree } of commits) {
        if (parent === newest)
          newest = commit; // nothing before it has changed
        else newest = await make({ tree, parents: [newest], ...(await describe(git, folder, commit)) });
      }
      return newest;
    },
  };
}

async function describe(git: Git, folder: string, commit: string): Promise<Pick<NewCommit, 'message' | 'author'>> {
  const form = ['--no-walk', '--encoding=UTF-8', '--date=raw', '--format=%an%x00%ae%x00%ad%x00%B'];
  const reported = await git.try(folder, ['rev-list', ...form, commit], NO_REPLACEMENTS);
  if (reported.failed)
    throw new Rejection(
      'merge_refused',
      `Git could not read the commit ${commit}, so nothing was merged.\n${reported.stderr}`.trim(),
    );
  const text = reported.stdout.slice(reported.stdout.indexOf('\n') + 1); // after "commit <id>"
  const [name = '', email = '', date = '', ...message] = text.split('\0');
  return {
    message: message.join('\0').replace(/\n$/, ''),
    author: { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: `@${date}` },
  };
}

/** How many commits a drafted message lists. */
const LISTED = 50;

/** What a squash makes one commit of. */
export interface SquashedCommits {
  title: string;
  previous: string;
  head: string;
  since: string | null;
  /** Whether uncommitted work comes along. */
  hasMore: boolean;
}

/**
 * Drafts the message of a squash: the message of the only commit; otherwise the stage's title, and a list of the commits. Null
 * if there is no commit.
 */
export async function draftSquashMessage(git: Git, folder: string, squashed: SquashedCommits): Promise<string | null> {
  const { title, previous, head, since, hasMore } = squashed;
  const not = since === null ? [] : [`^${since}`];
  const which = ['rev-list', '--reverse', '--topo-order', '--no-merges', '--encoding=UTF-8'];
  const range = [`${previous}..${head}`, ...not];
  const reported = await git.must(folder, [...which, '--format=%x00%B%x00%s', ...range], NO_REPLACEMENTS);
  const [, ...parts] = reported.split('\0');
  const commits: { message: string; subject: string }[] = [];
  for (let at = 0; at < parts.length; at += 2)
    commits.push({ message: (parts[at] ?? '').trim(), subject: (parts[at + 1] ?? '').split('\n')[0] ?? '' });
  const [first] = commits;
  if (first === undefined) return null;
  if (commits.length === 1 && !hasMore) return first.message;
  const list = commits.slice(0, LISTED).map(({ subject }) => `* ${subject}`);
  const more = commits.length > LISTED ? [`... and ${commits.length - LISTED} more`] : [];
  return [title, '', ...list, ...more].join('\n');
}
