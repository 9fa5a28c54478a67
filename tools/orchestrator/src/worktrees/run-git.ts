import { execa } from 'execa';
import { OperationalError } from '../lib/errors.ts';

export interface GitResult {
  failed: boolean;
  /** It did not end by itself: something killed it, or it took too long. */
  wasKilled: boolean;
  stdout: string;
  stderr: string;
}

/** Git in a folder, with the user's environment. */
export interface Git {
  /** Runs it whatever comes of it; extra variables for special cases such as another index. */
  try(cwd: string, args: readonly string[], env?: Record<string, string>): Promise<GitResult>;
  /** What it printed, without the last newline. @throws OperationalError `worktree_failed` with git's own words */
  must(cwd: string, args: readonly string[], env?: Record<string, string>): Promise<string>;
}

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** @param signal ends what runs when it aborts, as if it had been killed */
export function createGit(userEnv: Record<string, string>, signal?: AbortSignal): Git {
  const run: Git['try'] = async (cwd, args, env = {}) => {
    const { failed, isTerminated, timedOut, stdout, stderr, shortMessage } = await execa('git', args, {
      cwd,
      env: { ...userEnv, GIT_TERMINAL_PROMPT: '0', ...env },
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT_BYTES,
      ...(signal === undefined ? {} : { cancelSignal: signal }),
    });
    return {
      failed,
      wasKilled: isTerminated || timedOut,
      stdout,
      stderr: stderr === '' ? (shortMessage ?? '') : stderr,
    };
  };
  return {
    try: run,
    async must(cwd, args, env) {
      const { failed, stdout, stderr } = await run(cwd, args, env);
      if (failed)
        throw new OperationalError('worktree_failed', `git ${args.slice(0, 2).join(' ')} failed in ${cwd}: ${stderr}`);
      return stdout.trimEnd();
    },
  };
}
