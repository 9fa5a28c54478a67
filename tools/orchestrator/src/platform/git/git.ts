import { mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '@callboard/runtime/errors';
import { OperationalError, Rejection } from '../../lib/errors.ts';
import { pathExists } from '../files.ts';
import { explainFilterFailure } from './git-overrides.ts';
import { createGitGuard, type GitGuard } from './guard.ts';
import { placeholdersIn, type Repositories } from './locate-checkout.ts';
import {
  addsAll,
  excluding,
  type GitResult,
  gitEnvironment,
  gitFailure,
  listsUntracked,
  nestedRepositories,
  parseCommandLine,
  runGit,
} from './run-git.ts';

export type { GitResult };

/**
 * Git in the top folder of a checkout, with the user's environment and configuration. It runs only those programs of the
 * repository's configuration and hooks that somebody agreed to (docs/security.md). Mount points of a sandbox, which exist while
 * a command runs in it, do not count as new files.
 */
export interface Git {
  /**
   * Runs git and returns the result, even if it failed.
   * @param env extra variables, for example for another index
   * @param limitMs when to end it; by default after a minute
   */
  try(cwd: string, args: readonly string[], env?: Record<string, string>, limitMs?: number): Promise<GitResult>;
  /** Returns git's output without the last newline. @throws OperationalError `worktree_failed` with git's error text */
  must(cwd: string, args: readonly string[], env?: Record<string, string>): Promise<string>;
}

/** Git with its guard. */
export interface GuardedGit extends Git {
  /** Returns the same git, whose calls are killed when the signal aborts, or after this time. */
  until(signal: AbortSignal, timeoutMs?: number): Git;
  /** Returns the settings of the repository at this folder that nobody has agreed to. @throws OperationalError `worktree_failed` */
  inspect: GitGuard['inspect'];
  /** As `GitGuard.settingsOf`. @throws OperationalError `worktree_failed` */
  settingsOf: GitGuard['settingsOf'];
}

export interface GitDeps {
  /** The user's environment. */
  env: Record<string, string>;
  repositories: Repositories;
  /** Callboard's own folder, in which the hooks of a call are collected. */
  hooksBase: string;
}

export function createGit({ env: userEnv, repositories, hooksBase }: GitDeps): GuardedGit {
  const env = gitEnvironment(userEnv);
  const guard = createGitGuard({
    repositories,
    env,
    hooksBase,
    run: (cwd, args, extra) => runGit(cwd, args, { ...env, ...extra }),
  });

  function gitUntil(signal?: AbortSignal, timeoutMs?: number): Git {
    const run: Git['try'] = async (cwd, args, extra = {}, limitMs = timeoutMs) => {
      try {
        const call = await guard.prepare(cwd, args, extra);
        if (call.refusal !== null) return failure(call.refusal);
        const result = await runGit(cwd, call.args, { ...env, ...call.env }, { signal, timeoutMs: limitMs });
        const text = result.failed ? explainFilterFailure(result.stderr, call.pending) : null;
        return text === null ? result : { ...result, stderr: `${text}\n${result.stderr}` };
      } catch (error) {
        if (error instanceof OperationalError) return { ...failure(messageOf(error)), cause: error };
        throw error;
      }
    };

    /** Does not run git in nested repositories: adds the commits that they are at separately. */
    async function addAll(
      cwd: string,
      args: readonly string[],
      hidden: readonly string[],
      extra: Record<string, string>,
    ): Promise<GitResult> {
      const staged = await run(cwd, ['ls-files', '--stage', '-z'], extra);
      const inner = staged.failed ? [] : [...nestedRepositories(staged.stdout).keys()];
      const added = await run(cwd, [...args, ...excluding([...inner, ...hidden])], extra);
      if (added.failed || inner.length === 0) return added;
      const { options } = parseCommandLine(args);
      return run(cwd, [...options, 'update-index', '--add', '--remove', '--', ...inner], extra);
    }

    const attempt: Git['try'] = async (cwd, args, extra = {}, limitMs) => {
      if (!listsUntracked(args)) return run(cwd, args, extra, limitMs);
      const hidden = placeholdersIn(cwd);
      return addsAll(args) ? addAll(cwd, args, hidden, extra) : run(cwd, [...args, ...excluding(hidden)], extra);
    };
    return {
      try: attempt,
      async must(cwd, args, extra) {
        const { failed, stdout, stderr, cause } = await attempt(cwd, args, extra);
        if (!failed) return stdout.trimEnd();
        if (cause?.code === 'worktree_replaced') throw cause;
        throw new OperationalError(
          'worktree_failed',
          gitFailure(`git ${args.slice(0, 2).join(' ')} failed in ${cwd}.`, stderr),
        );
      },
    };
  }

  return { ...gitUntil(), until: gitUntil, inspect: guard.inspect, settingsOf: guard.settingsOf };
}

const failure = (stderr: string): GitResult => ({
  failed: true,
  wasKilled: false,
  exitCode: null,
  stdout: '',
  stderr,
});

/** The object store of a repository: its format, `sha1` or `sha256`, and its folder. */
export interface ObjectStore {
  format: string;
  objects: string;
}

/** Git with access to a repository's objects only. */
export interface ObjectsOnlyGit {
  /** An empty temporary folder. */
  readonly folder: string;
  /** Never rejects because git failed; see `GitResult`. */
  try(args: readonly string[]): Promise<GitResult>;
}

/**
 * Creates an empty git directory that uses the objects of a repository. Attributes, configuration (the repository's and the
 * user's), replaced objects and grafts have no effect on a diff there: it depends on the objects alone.
 */
export async function withObjectsOnlyGit<T>(
  git: Git,
  { format, objects }: ObjectStore,
  use: (plain: ObjectsOnlyGit) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-diff-'));
  try {
    const dir = join(folder, 'git');
    for (const part of ['objects', 'refs']) await mkdir(join(dir, part), { recursive: true });
    await writeFile(join(dir, 'HEAD'), 'ref: refs/heads/none\n');
    await writeFile(join(dir, 'config'), configOf(format));
    const env = {
      GIT_DIR: dir,
      GIT_OBJECT_DIRECTORY: objects,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_ATTR_NOSYSTEM: '1',
      // Before 2.32 git ignores GIT_CONFIG_GLOBAL; the default attributes file is in the home folder as well.
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      LC_ALL: 'C',
    };
    return await use({ folder, try: (args) => git.try(folder, args, env) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const configOf = (format: string): string =>
  format === 'sha1'
    ? '[core]\n\tbare = true\n'
    : `[core]\n\tbare = true\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = ${format}\n`;

/** How long another git may hold the index before a person hears of it: an editor that looks at the status holds it for a moment. */
const PATIENCE_MS = 5_000;
const BETWEEN_CHECKS_MS = 50;

/** Waits until no other git holds the index of a checkout, for five seconds at most. @returns the path of the lock if one still does */
export async function afterOtherGit(git: Pick<Git, 'try'>, checkout: string): Promise<string | null> {
  if (!(await pathExists(checkout))) return null;
  const { failed, stdout } = await git.try(checkout, ['rev-parse', '--git-path', 'index.lock']);
  if (failed) return null; // what comes next says why
  const lock = resolve(checkout, stdout.trim());
  const end = performance.now() + PATIENCE_MS;
  while (await pathExists(lock)) {
    if (performance.now() >= end) return lock;
    await sleep(BETWEEN_CHECKS_MS);
  }
  return null;
}

/** As `afterOtherGit`, for a merge into a main checkout. @throws Rejection with the code if another git still holds it */
export async function requireNoOtherGit(
  git: Pick<Git, 'try'>,
  checkout: string,
  code: 'merge_refused' | 'undo_refused' = 'merge_refused',
): Promise<void> {
  const lock = await afterOtherGit(git, checkout);
  if (lock === null) return;
  const message = `Another git process is running in the main checkout at ${checkout}, or was killed there. Wait for it to finish; if none is running, remove ${lock}, then try again.`;
  throw new Rejection(code, message);
}

/** Whether any git, which may hold a lock, works in a checkout, for five seconds at least. Needs `/proc`; without it none is found. */
export async function isGitRunningIn(checkout: string): Promise<boolean> {
  const end = performance.now() + PATIENCE_MS;
  while (await findGitIn(checkout)) {
    if (performance.now() >= end) return true;
    await sleep(BETWEEN_CHECKS_MS);
  }
  return false;
}

async function findGitIn(checkout: string): Promise<boolean> {
  const names = await readdir('/proc').catch(() => []);
  for (const pid of names.filter((name) => /^\d+$/.test(name))) {
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (!name.startsWith('git')) continue;
    const folder = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (`${folder}/`.startsWith(`${checkout}/`)) return true;
  }
  return false;
}
