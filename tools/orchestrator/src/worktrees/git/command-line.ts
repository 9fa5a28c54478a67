/** A call of git, taken apart: options of git itself, the command, and what comes after it. */
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

/** Commands that change a checkout or a history: git runs hooks for them. For all others hooks are off. */
const WRITES: ReadonlySet<string> = new Set([
  ...['merge', 'commit', 'checkout', 'switch', 'restore', 'reset', 'worktree', 'rebase', 'cherry-pick', 'revert'],
  ...['branch', 'stash', 'pull', 'push', 'am', 'tag', 'update-ref', 'clean'],
]);

export const runsHooks = (args: readonly string[]): boolean => WRITES.has(parseCommandLine(args).command);

/**
 * A call with the options that keep git from running other programs: external diffs, text conversions, and git itself in
 * repositories inside of this one, which have a configuration of their own that nobody looked at.
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

/** Whether it adds all there is; git would run itself in every repository inside of this one. */
export function addsAll(args: readonly string[]): boolean {
  const { command, rest } = parseCommandLine(args);
  return command === 'add' && (rest.includes('--all') || rest.includes('-A')) && !rest.includes('--');
}

/** Whether it looks for files that git does not know yet, in the whole checkout. */
export function listsUntracked(args: readonly string[]): boolean {
  const { command, rest } = parseCommandLine(args);
  if (rest.includes('--')) return false;
  if (command === 'status') return !rest.includes('--untracked-files=no');
  return (command === 'ls-files' && rest.includes('--others')) || addsAll(args);
}

/** The end of a command line that leaves these paths out of what the call looks at. */
export const excluding = (paths: readonly string[]): string[] =>
  paths.length === 0 ? [] : ['--', '.', ...paths.map((path) => `:(exclude,literal)${path}`)];

/** The repositories inside of this one, as `ls-files --stage -z` prints them. */
export const nestedRepositories = (staged: string): string[] =>
  staged.split('\0').flatMap((line) => (line.startsWith('160000 ') ? line.slice(line.indexOf('\t') + 1) : []));
