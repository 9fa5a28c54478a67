import type { OperationalError } from '../../lib/errors.ts';
import { GIT_MARKER } from '../child-processes.ts';
import { run } from '../processes.ts';

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

/** The parts of a git command line: git's own options, the command, and its arguments. */
interface Call {
  options: readonly string[];
  command: string;
  rest: readonly string[];
}

export function parseCommandLine(args: readonly string[]): Call {
  let at = 0;
  while ((args[at] ?? '').startsWith('-')) at += args[at] === '-c' || args[at] === '-C' ? 2 : 1;
  return { options: args.slice(0, at), command: args[at] ?? '', rest: args.slice(at + 1) };
}

/** Commands that change a checkout or the history. Git runs hooks for them; for all others hooks are off. */
const WRITES: ReadonlySet<string> = new Set([
  ...['merge', 'commit', 'checkout', 'switch', 'restore', 'reset', 'worktree', 'rebase', 'cherry-pick', 'revert'],
  ...['branch', 'stash', 'pull', 'push', 'am', 'tag', 'update-ref', 'clean', 'hook'],
]);

export const runsHooks = (args: readonly string[]): boolean => WRITES.has(parseCommandLine(args).command);

/**
 * Adds the options that keep git from running other programs: external diffs, text conversions, and git itself in nested
 * repositories, whose own configuration nobody has checked.
 */
export function withSafeOptions(args: readonly string[]): string[] {
  const { options, command, rest } = parseCommandLine(args);
  const safe = [...(SAFE_OPTIONS[command] ?? [])].filter(
    (option) => !option.startsWith(IGNORE) || !rest.some((given) => given.startsWith(IGNORE)),
  );
  return [...options, command, ...safe, ...rest];
}

const IGNORE = '--ignore-submodules';
const NO_PROGRAMS = ['--no-ext-diff', '--no-textconv'];
const SAFE_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  status: [`${IGNORE}=dirty`],
  diff: [`${IGNORE}=dirty`, ...NO_PROGRAMS],
  'diff-index': [`${IGNORE}=dirty`, ...NO_PROGRAMS],
  'diff-files': [`${IGNORE}=dirty`, ...NO_PROGRAMS],
  log: NO_PROGRAMS,
  show: NO_PROGRAMS,
};

/** Whether the call adds everything; git would run itself in every nested repository. */
export function addsAll(args: readonly string[]): boolean {
  const { command, rest } = parseCommandLine(args);
  return command === 'add' && (rest.includes('--all') || rest.includes('-A')) && !rest.includes('--');
}

/** Whether the call looks for untracked files in the whole checkout. */
export function listsUntracked(args: readonly string[]): boolean {
  const { command, rest } = parseCommandLine(args);
  if (rest.includes('--')) return false;
  if (command === 'status') return !rest.includes('--untracked-files=no');
  return (command === 'ls-files' && rest.includes('--others')) || addsAll(args);
}

/** Returns the arguments that exclude these paths from a call. */
export const excluding = (paths: readonly string[]): string[] =>
  paths.length === 0 ? [] : ['--', '.', ...paths.map(excluded)];

/** Returns the pathspec that leaves out a path. */
export const excluded = (path: string): string => `:(exclude,literal)${path}`;

/** Returns the nested repositories in the output of `ls-files --stage -z`, with or without `-v`: the commit of each, by path. */
export function nestedRepositories(staged: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of staged.split('\0')) {
    const [, commit, path] = line.includes('160000 ') ? (NESTED.exec(line) ?? []) : [];
    if (commit !== undefined && path !== undefined && !found.has(path)) found.set(path, commit);
  }
  return found;
}

const NESTED = /^(?:. )?160000 ([0-9a-f]+) \d\t(.*)$/s;

/** What git prints, as a pattern, with the cause in words and what to do next. */
const CAUSES: readonly [RegExp, string][] = [
  [/No space left on device|Disk quota exceeded/i, 'The disk is full. Free some space, then try again.'],
  [
    /already (?:checked out|used by worktree) at '([^']+)'/i,
    'The branch is checked out in $1. Switch to another branch there, then try again.',
  ],
  [
    /Unable to create '([^']+\.lock)'|Another git process seems to be running/i,
    'Another git command is running in this repository, or has left its lock behind. Wait until it has ended, then try again.',
  ],
  [
    /Permission denied|Operation not permitted/i,
    'Callboard is not allowed to write there. Change the permissions, then try again.',
  ],
  [
    /not a git repository/i,
    'Its repository is no longer there. Move it back, or add it to the board from its new place.',
  ],
  [
    /(?:object file .* is empty|bad object|unable to read (?:tree|sha1)|corrupt|missing blob)/i,
    'The repository is damaged. Run `git fsck` in it to see what is missing.',
  ],
  [/pathspec .* did not match|invalid reference|unknown revision/i, 'A branch or commit of this stage is gone.'],
];

/**
 * Returns a text for people: what could not be done, the cause and the next step if git's output is known, and below them, on
 * lines of their own, the output itself as details.
 */
export function gitFailure(what: string, output: string): string {
  const details = output.trim();
  for (const [pattern, text] of CAUSES) {
    const found = pattern.exec(details);
    if (found !== null) return `${what} ${text.replace('$1', found[1] ?? 'another folder')}\n${details}`;
  }
  return details === '' ? `${what} Git gave no reason.` : `${what} Git gave this reason:\n${details}`;
}

/** Without replaced objects and grafts, a merge takes the objects as the diff shows them. */
export const NO_REPLACEMENTS = { GIT_NO_REPLACE_OBJECTS: '1', GIT_GRAFT_FILE: '/dev/null' };
