import { messageOf } from '@callboard/runtime/errors';
import { OperationalError } from '../../lib/errors.ts';
import { placeholdersIn } from '../sandbox-mount-points.ts';
import { addsAll, excluding, listsUntracked, nestedRepositories, parseCommandLine } from './command-line.ts';
import { gitFailure } from './git-cause.ts';
import { createGitGuard, type GitGuard } from './guard.ts';
import type { Repositories } from './known-repositories.ts';
import { explainFilterFailure } from './overrides.ts';
import { type GitResult, gitEnvironment, runGit } from './run-git.ts';

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

  return { ...gitUntil(), until: gitUntil, inspect: guard.inspect };
}

const failure = (stderr: string): GitResult => ({
  failed: true,
  wasKilled: false,
  exitCode: null,
  stdout: '',
  stderr,
});
