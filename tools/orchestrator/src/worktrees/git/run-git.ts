import type { OperationalError } from '../../lib/errors.ts';
import { GIT_MARKER } from '../../lib/processes/process-mark.ts';
import { run } from '../../lib/processes/processes.ts';

export interface GitResult {
  failed: boolean;
  /** A signal ended it, or it took too long. */
  wasKilled: boolean;
  /** null if a signal ended it, or it did not run. */
  exitCode: number | null;
  stdout: string;
  stderr: string;
  /** Why git was not called at all. */
  cause?: OperationalError;
}

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Runs git with exactly these arguments and variables, without the guard. */
export async function runGit(
  cwd: string,
  args: readonly string[],
  env: Record<string, string>,
  { signal, timeoutMs = TIMEOUT_MS }: { signal?: AbortSignal | undefined; timeoutMs?: number | undefined } = {},
): Promise<GitResult> {
  const job = { command: 'git', args, cwd, env, timeoutMs, maxBytes: MAX_OUTPUT_BYTES };
  const { failed, wasKilled, exitCode, stdout, stderr, complaint } = await run(job, signal);
  return { failed, wasKilled, exitCode, stdout, stderr: stderr === '' ? (complaint ?? '') : stderr };
}

/**
 * Variables that point git at another repository, index or object store, or change how it reads paths and diffs. They are
 * inherited if Callboard was started from a hook or from `git rebase --exec`, and were never meant for our calls.
 */
const INHERITED = [
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_COMMON_DIR', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY', 'GIT_PREFIX'],
  ...['GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_NAMESPACE', 'GIT_IMPLICIT_WORK_TREE', 'GIT_SHALLOW_FILE'],
  ...['GIT_GRAFT_FILE', 'GIT_REPLACE_REF_BASE', 'GIT_NO_REPLACE_OBJECTS', 'GIT_INTERNAL_SUPER_PREFIX'],
  ...['GIT_CONFIG', 'GIT_CONFIG_PARAMETERS', 'GIT_QUARANTINE_PATH', 'GIT_ATTR_SOURCE', 'GIT_EXTERNAL_DIFF'],
  ...['GIT_LITERAL_PATHSPECS', 'GIT_GLOB_PATHSPECS', 'GIT_NOGLOB_PATHSPECS', 'GIT_ICASE_PATHSPECS', 'GIT_DIFF_OPTS'],
];

/**
 * Returns the user's environment for our calls of git. The user's own configuration of git stays (`GIT_CONFIG_GLOBAL`,
 * `GIT_CONFIG_COUNT`, `GIT_SSH_COMMAND`, names and addresses); git neither prompts on a terminal nor opens an editor.
 */
export function gitEnvironment(user: Readonly<Record<string, string>>): Record<string, string> {
  const saved = Object.entries(user).filter(([name]) => !INHERITED.includes(name));
  return {
    ...Object.fromEntries(saved),
    [GIT_MARKER]: String(process.pid),
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: ':',
    GIT_SEQUENCE_EDITOR: ':',
    // A look at the status must not lock the index: a merge beside it would meet that lock.
    GIT_OPTIONAL_LOCKS: '0',
    // Hints are for somebody at a terminal. Git before 2.46 needs a setting for each (`NO_HINTS`).
    GIT_ADVICE: '0',
  };
}

/** The variables that pin a call to its repository. A hook gets none of them, so that it finds its repository as if a person had called git. */
export const PINNING_VARIABLES: readonly string[] = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_COMMON_DIR'];
