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
