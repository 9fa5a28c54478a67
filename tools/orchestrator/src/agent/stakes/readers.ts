import { type Call, optionPath, type Rule, report, reportUnknown, splitArgs, touch } from './call.ts';
import type { Arg } from './shell-word.ts';

interface ReaderOptions {
  /** Options that make the command write, or run something. */
  danger?: RegExp;
  /** Whether its first operand is a pattern or a program, and not a path. */
  takesPattern?: RegExp | true;
  /** Options whose value stands in the next argument, and is no path. */
  valued?: RegExp;
  /** How many operands it only reads; further ones are written to. */
  reads?: number;
}

/** A command that reads the files it is given, and does nothing else. */
const reads =
  ({ danger, takesPattern, valued, reads: most = Number.POSITIVE_INFINITY }: ReaderOptions = {}): Rule =>
  (call) => {
    const { options, operands } = splitArgs(withoutValues(call.args, valued));
    for (const option of options) {
      const path = optionPath(option);
      if (!option.isLiteral || danger?.test(option.text) === true) reportUnknown(call);
      else if (path !== null) touch(call, path, false);
    }
    const hasPattern =
      takesPattern !== undefined && !options.some(({ text }) => /^(?:-[ef]|--regexp|--file)/.test(text));
    const pattern = hasPattern ? operands[0] : undefined;
    const isProgram = takesPattern instanceof RegExp && pattern !== undefined && !takesPattern.test(pattern.text);
    if (isProgram || (pattern !== undefined && !pattern.isLiteral && !pattern.isOneWord)) reportUnknown(call);
    const paths = hasPattern ? operands.slice(1) : operands;
    for (const path of paths) touch(call, path, false);
    if (paths.length > most || (danger !== undefined && paths.some((path) => path.mayBecomeOption)))
      reportUnknown(call);
  };

const withoutValues = (args: readonly Arg[], valued: RegExp | undefined): Arg[] =>
  args.filter((_, index) => {
    const before = args[index - 1];
    return valued === undefined || before === undefined || !valued.test(before.text);
  });

/** What it is given does not matter, as it neither runs nor opens it. */
const says: Rule = () => {};

const COMPARISON = /^(?:==?|!=|-[znfderwxsLhbcpS]|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))$/;

/** `[ "$x" = y ]`. A `-v` evaluates the index of an array, and an unquoted word may become one. */
const compares: Rule = (call) => {
  const open = call.args.filter((arg) => !arg.isLiteral);
  const isPlain = open.every((arg) => arg.isOneWord) && call.args.some(({ text }) => COMPARISON.test(text));
  if ((open.length > 0 && !isPlain) || call.args.some(({ text }) => /^-[vR]$/.test(text))) reportUnknown(call);
};

const printf: Rule = (call) => {
  if (call.args[0]?.isLiteral !== true || call.args[0].text.startsWith('-v')) reportUnknown(call);
};

/** Prints the environment, or one variable of it. */
const environment: Rule = (call) =>
  report(call, { code: 'credentials', lead: 'Shows environment variables, which may hold credentials' });

const without =
  (danger: RegExp): Rule =>
  (call) => {
    if (call.args.some((arg) => !arg.isLiteral || danger.test(arg.text))) reportUnknown(call);
  };

const literalOnly = without(/^$/);

/** Changes where relative paths begin. */
const cd: Rule = (call) => {
  const [target] = splitArgs(call.args).operands;
  if (target === undefined) {
    touch(call, { text: '~', isLiteral: true, mayBecomeOption: false, isOneWord: true, source: '~' }, false);
    call.scope.folder = '/~';
    return;
  }
  if (!target.isLiteral || target.text === '-') {
    reportUnknown(call);
    call.scope.isKnown = false;
    return;
  }
  touch(call, target, false);
  const { folder } = call.scope;
  const base = folder ?? call.script.worktree ?? '/worktree';
  call.scope.folder = /^[/~]/.test(target.text) ? target.text.replace(/^~/, '/~') : `${base}/${target.text}`;
};

const SED_READS =
  /^(?:\d+|\$|\/[^/]*\/)?(?:,(?:\d+|\$|\+\d+|\/[^/]*\/))?!?[pdq=]$|^s(?<sep>[/|,#@:])(?:(?!\k<sep>).)*\k<sep>(?:(?!\k<sep>).)*\k<sep>[gpiI\d]*$/;
const AWK_READS = /^(?![\s\S]*(?:system|getline|\||>|close|@|printf?\s*>))[\s\S]*$/;
const JQ_READS = /^(?![\s\S]*(?:\benv\b|\$ENV|\binput_filename\b))[\s\S]*$/;

const FIND_RUNS = /^-(?:exec|execdir|ok|okdir)$/;
const FIND_VALUES =
  /^-(?:i?name|i?path|i?regex|i?wholename|type|maxdepth|mindepth|mtime|mmin|size|perm|printf|user|group|newer\w*|regextype)$/;

/** What `{}` stands for, in words. */
const foundIn = (roots: readonly string[]) => (arg: Arg) =>
  arg.text === '{}' ? { ...arg, source: `what it finds in ${roots.join(' ') || 'the current folder'}` } : arg;

const readsWithSed = reads({ danger: /^-\w*[fise]|^--(?:file|expression|separate)/, takesPattern: SED_READS });
const IN_PLACE = /^-[nErsu]*i|^--in-place/;

/** `sed`; with `-i` it changes the files it reads. */
const sed: Rule = (call, run) => {
  const args = call.args.filter(({ text }) => !IN_PLACE.test(text));
  readsWithSed({ ...call, args }, run);
  if (args.length < call.args.length) writes(call, splitArgs(args).operands.slice(1));
};

/** `find`, which can delete, write files and run commands. */
const find: Rule = (call, run) => {
  const { args } = call;
  const firstTest = args.findIndex(({ text }) => /^[-(!]/.test(text) && !/^-[HLPEdsx]$/.test(text));
  const roots = (firstTest === -1 ? args : args.slice(0, firstTest)).filter(({ text }) => !/^-[HLP]$/.test(text));
  for (const root of roots) {
    touch(call, root, false);
    if (root.mayBecomeOption) reportUnknown(call);
  }
  const places = roots.map(({ source }) => (source === '.' ? 'the current folder' : source));
  for (let index = firstTest === -1 ? args.length : firstTest; index < args.length; index += 1) {
    const text = args[index]?.text ?? '';
    if (args[index]?.isLiteral === false) reportUnknown(call);
    if (text === '-delete')
      report(call, {
        code: 'deletes',
        lead: 'Deletes what it finds in',
        subject: places.join(' ') || 'the current folder',
      });
    if (/^-f(?:print|ls)/.test(text) || /^-files0-from/.test(text)) reportUnknown(call);
    if (FIND_VALUES.test(text)) index += 1;
    if (!FIND_RUNS.test(text)) continue;
    const end = args.findIndex((arg, at) => at > index && /^(?:;|\+)$/.test(arg.text));
    const inner = args.slice(index + 1, end === -1 ? args.length : end);
    const [command, ...rest] = inner;
    if (command === undefined || !command.isLiteral || command.text.includes('{}')) reportUnknown(call);
    else run({ ...call, name: command.text, args: rest.map(foundIn(places)) });
    index = end === -1 ? args.length : end;
  }
};

const pattern = {
  takesPattern: true,
  valued: /^(?:-[ABCm]|--(?:after|before|max)[\w-]*|-[gt]|--(?:glob|type))$/,
} as const;
const names = (list: string, rule: Rule): [string, Rule][] => list.split(' ').map((name) => [name, rule]);

/** Commands that read, and do nothing else unless an option says so. */
export const READERS: readonly [string, Rule][] = [
  ...names(
    'cat head tail wc ls stat du df nl tac rev fold paste join expand unexpand od hexdump strings cmp comm',
    reads({ valued: /^-[nc]$/ }),
  ),
  ...names('md5sum sha1sum sha256sum sha512sum cksum shasum basename dirname realpath readlink diff column', reads()),
  ...names('cut tr', reads({ valued: /^-[dfc]$/ })),
  ...names(
    'echo : true false exit return break continue shift wait sleep pwd type which whereis read local umask',
    says,
  ),
  ...names('whoami id uname nproc free uptime tty arch ps pgrep seq', literalOnly),
  ...names('test [', compares),
  ...names('grep egrep fgrep', reads({ ...pattern })),
  ...names('rg', reads({ ...pattern, danger: /^--(?:pre|hostname-bin|search-zip)|^-\w*z/ })),
  ...names('sort', reads({ danger: /^-\w*[oT]|^--(?:o|comp|files|temp)/, valued: /^-[kt]$/ })),
  ...names('tree', reads({ danger: /^-o|^--(?:output|from)/, valued: /^-[LIP]$/ })),
  ...names('file', reads({ danger: /^-\w*[Cmf]|^--(?:compile|magic|files)/ })),
  ...names('uniq xxd', reads({ danger: /^-r/, reads: 1 })),
  ['sed', sed],
  ...names('awk gawk mawk', reads({ danger: /^-[^F]|^--/, valued: /^-F$/, takesPattern: AWK_READS })),
  ...names('jq', reads({ danger: /^-\w*[fL]|^--(?:from-file|rawfile|slurpfile|args)/, takesPattern: JQ_READS })),
  ...names('date', without(/^-\w*s|^--s/)),
  ['hostname', without(/^(?!-[fisd]$)/)],
  ['printf', printf],
  ['printenv', environment],
  ['cd', cd],
  ['pushd', cd],
  ['find', find],
];

/** Tells that a command writes the files it names. */
export function writes(call: Call, subjects: readonly Arg[]): void {
  for (const subject of subjects) {
    report(call, { code: 'writes', lead: 'Changes files:', subject: subject.source });
    touch(call, subject, true);
  }
}
