import { posix } from 'node:path';
import { type Risk, RiskCode } from '@callboard/contract';
import type { CommandArgument, Word, WordPart } from 'unbash';

const URL_HOST = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]+)/i;
const REMOTE = /^(?:[^@/\s]+@)?([\w.-]+|\[[\da-f:]+\]):(?!\\)/i;
const BARE = /^(?:[^@/\s]+@)?((?:[\w-]+\.)+[a-z]{2,}|localhost|\d+\.\d+\.\d+\.\d+)(?:[:/?#]|$)/i;

/** The host that a URL, or an address without a scheme, names; null if it names none. */
export const hostOf = (text: string): string | null => URL_HOST.exec(text)?.[1] ?? BARE.exec(text)?.[1] ?? null;

/** The host of `user@host:path`; null for a path of this machine. */
export const remoteHostOf = (text: string): string | null => URL_HOST.exec(text)?.[1] ?? REMOTE.exec(text)?.[1] ?? null;

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

/** A command of a script. */
export interface ScriptCommand {
  name: string;
  args: readonly Arg[];
  /** Where it runs, absolute or relative to the worktree; null if unknown. */
  folder: string | null;
}

/** What all commands of one script share while it is read. */
export interface Script {
  worktree: string | null;
  found: Finding[];
  /** The commands in it that are known by name, in their order. */
  commands: ScriptCommand[];
  /** How many scripts this one stands in: `bash -c` within `bash -c`. */
  depth: number;
}

/** The folder that relative paths begin in: known, or not. Commands in parentheses have one of their own. */
export interface Scope {
  folder: string | null;
  isKnown: boolean;
}

/** One command of a script, with what rules about commands ask and tell. */
export interface Call {
  name: string;
  args: readonly Arg[];
  scope: Scope;
  script: Script;
  /** The source of the command, or of the pipeline it stands in. */
  source: string;
  /** Whether something is written into it: it may be a program. */
  hasInput: boolean;
  /** The here-documents that are written into it. */
  heredocs: readonly string[];
  /** Reads a text as a script that runs in the place of the command. */
  readText: (text: string) => void;
}

/** Tells what a command does. @param run tells what another command does, which this one starts */
export type Rule = (call: Call, run: (inner: Call) => void) => void;

type Reported = Omit<Finding, 'command'>;

export const report = ({ script, source }: Call, finding: Reported): void => {
  script.found.push({ ...finding, command: source });
};

export const reportUnknown = (call: Call): void => report(call, UNKNOWN);

/** Tells what is at risk because of a path. */
export function touch(call: Call, arg: Arg, writes: boolean): void {
  const { scope, script } = call;
  const path = arg.text.replaceAll('\0', '*');
  if (!arg.isLiteral || mayFindSecret(path) || (!scope.isKnown && !/^[/~]/.test(path))) reportUnknown(call);
  const place = { folder: scope.folder, worktree: script.worktree, writes };
  for (const found of pathFindings(path, place)) report(call, found);
}

/** The arguments split at their `--`: options before it, and the others. */
export function splitArgs(args: readonly Arg[]): { options: Arg[]; operands: Arg[] } {
  const end = args.findIndex(({ text }) => text === '--');
  const before = end === -1 ? args : args.slice(0, end);
  const isOption = ({ text }: Arg) => text.startsWith('-') && text !== '-';
  return {
    options: before.filter(isOption),
    operands: [...before.filter((arg) => !isOption(arg)), ...(end === -1 ? [] : args.slice(end + 1))],
  };
}

/** Paths within options: `--output=/x`, `-I/x`. */
function optionPath(arg: Arg): Arg | null {
  const value = /^--[\w-]+=(.+)$/s.exec(arg.text)?.[1] ?? /^-[A-Za-z]([/~].*)$/s.exec(arg.text)?.[1];
  return value === undefined ? null : { ...arg, text: value };
}

const PATH_LIKE = /^[~/][\w@.+\-/~* ]*$|^(?:[\w@.+\-* ]+\/)*\.\.(?:\/[\w@.+\-/~* ]*)?$/;

/** Tells of the paths among the arguments of a command that nothing else is known about. */
export function touchLikely(call: Call): void {
  for (const arg of call.args) {
    const { text } = optionPath(arg) ?? arg;
    const { folder } = call.scope;
    const isSpoken = text.includes(' ') && !text.startsWith('/') && !text.startsWith('~');
    if (isSpoken || text.includes('://')) continue;
    const place = { folder, worktree: call.script.worktree, writes: false };
    const looksLikePath = PATH_LIKE.test(text.replaceAll('\0', '*'));
    const found = pathFindings(text.replaceAll('\0', '*'), place);
    for (const one of found) if (looksLikePath || one.code !== 'outside') report(call, one);
  }
}

/** One effect that was found: "Deletes" and "dist". */
export interface Finding {
  code: RiskCode;
  /** The beginning of the sentence, without its full stop. */
  lead: string;
  /** What it is done to; the subjects of findings with the same lead share one sentence. */
  subject?: string | undefined;
  /** The part of the command it was found in. */
  command: string | null;
}

const MAX_SUBJECTS = 3;
const MAX_SUBJECT_LENGTH = 60;
const MAX_COMMAND_LENGTH = 200;

export const UNKNOWN = { code: 'unknown', lead: 'Runs a script. Callboard cannot tell what it does' } as const;

/** Merges findings into sentences, the gravest first. */
export function risksFrom(findings: readonly Finding[]): Risk[] {
  const groups = Map.groupBy(findings, ({ code, lead }) => `${code} ${lead}`);
  const risks = [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [{ code: first.code, text: sentence(first.lead, group), command: shown(first) }];
  });
  return risks.toSorted((a, b) => RiskCode.options.indexOf(a.code) - RiskCode.options.indexOf(b.code));
}

function sentence(lead: string, group: readonly Finding[]): string {
  const subjects = [...new Set(group.flatMap(({ subject }) => (subject === undefined ? [] : [short(subject)])))];
  if (subjects.length === 0) return `${lead}.`;
  const more = subjects.length - MAX_SUBJECTS;
  const named = subjects.slice(0, MAX_SUBJECTS).join(', ');
  return `${lead} ${named}${more > 0 ? ` and ${more} more` : ''}.`;
}

const short = (subject: string) => oneLine(subject, MAX_SUBJECT_LENGTH);
const shown = ({ command }: Finding) => (command === null ? null : oneLine(command, MAX_COMMAND_LENGTH));

/** The first line that has text, cut at its end. */
function oneLine(text: string, longest: number): string {
  const [line = '', ...more] = text.trim().split('\n');
  const isCut = line.length > longest || more.length > 0;
  return isCut ? `${line.slice(0, longest - 1)}…` : line;
}

const SECRET_NAME =
  /^(?:\.ssh|\.aws|\.gnupg|\.kube|\.azure|\.password-store|\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.vault-token|\.htpasswd|\.credentials\.json|\.claude\.json|\.(?:ba|z)sh_history|id_(?:rsa|dsa|ecdsa|ed25519)|(?:credentials|secrets?)(?:\.(?:json|ya?ml|toml|ini|env|txt))?|.+\.(?:pem|p12|pfx|key|keystore|jks|kdbx))$/i;
const SECRET_FOLDER = /^(?:\.ssh|\.aws|\.gnupg|\.kube|\.azure|\.password-store)$/i;
const ENV_FILE = /^\.env(?!.*\.(?:example|sample|template|dist)$)(?:[.*?].*)?$/i;
const SECRET_PATH =
  /(?:^|\/)(?:etc\/(?:g?shadow|sudoers)|proc\/[^/]+\/environ|\.docker\/config\.json|\.config\/(?:gh|gcloud|op|hub)(?:\/|$))/i;

/** Whether a path is one of those that usually hold keys, passwords or tokens. */
function isSecretPath(path: string): boolean {
  const names = path.split('/').filter((name) => name !== '');
  const last = names.at(-1) ?? '';
  return (
    SECRET_PATH.test(path) ||
    SECRET_NAME.test(last) ||
    ENV_FILE.test(last) ||
    (names.some((name) => SECRET_FOLDER.test(name)) && !last.endsWith('.pub'))
  );
}

/** Whether a pattern may also find such a path: `.e*`, `id_*`. */
const mayFindSecret = (path: string): boolean =>
  path.split('/').some((name) => /[*?[]/.test(name) && /^(?:\.|id|cred|secret|\*\.(?:p|k|j))/i.test(name));

const RUNS_LATER =
  /(?:^|\/)(?:\.git\/hooks|\.husky|cron(?:tabs?|\.(?:d|daily|hourly|weekly|monthly))|crontab|systemd|LaunchAgents|LaunchDaemons|autostart|init\.d|\.github\/workflows)(?:\/|$)|(?:^|\/)(?:\.(?:bash|zsh)(?:rc|_profile|_login|_logout)|\.zshenv|\.zprofile|\.profile|\.bash_aliases|\.envrc|\.gitconfig|\.git\/config|\.gitlab-ci\.yml|\.pre-commit-config\.yaml|\.vscode\/tasks\.json|\.claude\/settings(?:\.local)?\.json|\.mcp\.json)$/;

/** Whether what stands in this file is run by something else at another time. */
const runsLater = (path: string): boolean => RUNS_LATER.test(path);

const HARMLESS_DEVICE = /^\/dev\/(?:null|zero|u?random|std(?:in|out|err)|tty|fd\/\d+)$/;

/** Whether a path leaves the worktree. @param folder where relative paths begin; null if nobody knows */
function isOutside(path: string, folder: string | null, worktree: string | null): boolean {
  if (HARMLESS_DEVICE.test(path)) return false;
  if (path.startsWith('~')) return true;
  const start = folder ?? worktree ?? '/worktree';
  const root = worktree ?? '/worktree';
  const full = posix.normalize(path.startsWith('/') ? path : posix.join(start, path));
  return full !== root && full !== `${root}/` && !full.startsWith(`${root}/`);
}

/** What is at risk because a call touches this path. @param writes whether it may change the file */
export function pathFindings(
  path: string,
  { folder, worktree, writes }: { folder: string | null; worktree: string | null; writes: boolean },
): Reported[] {
  const found: Reported[] = [];
  const subject = /(?:^|\/)\.\.$/.test(path) ? `${path}/` : path;
  if (writes && runsLater(path)) found.push({ code: 'schedules', lead: 'Sets up code that runs later:', subject });
  if (isSecretPath(path)) found.push({ code: 'credentials', lead: 'Touches credentials:', subject });
  if (isOutside(path, folder, worktree))
    found.push({ code: 'outside', lead: 'Reaches outside the worktree:', subject });
  return found;
}

/** An argument of a command, as far as it is known before the command runs. */
export interface Arg {
  /** The text after quotes are removed. What is not known is a NUL; `$HOME` is `~`. */
  text: string;
  /** Whether nothing in it is expanded: the text is exactly what the command gets. */
  isLiteral: boolean;
  /** Whether a pattern stands at its beginning, so that a file's name may become an option. */
  mayBecomeOption: boolean;
  /** Whether it stays one argument, whatever it expands to. */
  isOneWord: boolean;
  /** As it is written. */
  source: string;
}

const UNKNOWN_WORD = '\0';

/** Reads an argument, or a redirection's target. */
export function argOf(word: CommandArgument): Arg {
  if (word.type === 'Assignment')
    return {
      text: word.text,
      isLiteral: isPlain(word.text),
      mayBecomeOption: false,
      isOneWord: true,
      source: word.text,
    };
  const { text, value, parts } = word;
  if (parts === undefined)
    return { text: value, isLiteral: true, mayBecomeOption: false, isOneWord: true, source: text };
  const pieces = parts.map(pieceOf);
  return {
    text: pieces.map((piece) => piece.text).join(''),
    isLiteral: pieces.every((piece) => piece.isLiteral),
    mayBecomeOption:
      parts[0]?.type === 'Glob' || parts[0]?.type === 'ExtendedGlob' || parts[0]?.type === 'BraceExpansion',
    isOneWord: parts.every(({ type }) => type === 'DoubleQuoted' || type === 'SingleQuoted' || type === 'Literal'),
    source: text,
  };
}

const isPlain = (text: string) => !/[$`*?[{(]/.test(text);

interface Piece {
  text: string;
  isLiteral: boolean;
}

const unknown: Piece = { text: UNKNOWN_WORD, isLiteral: false };

function pieceOf(part: WordPart): Piece {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return { text: part.value, isLiteral: true };
    case 'DoubleQuoted':
    case 'LocaleString': {
      const inner = part.parts.map(pieceOf);
      return {
        text: inner.map((piece) => piece.text).join(''),
        isLiteral: part.type === 'DoubleQuoted' && inner.every((piece) => piece.isLiteral),
      };
    }
    case 'Glob':
      // A pattern finds files where it stands, and nothing else.
      return { text: part.value, isLiteral: true };
    case 'SimpleExpansion':
      return part.text === '$HOME' ? { text: '~', isLiteral: true } : namedOr(part.text);
    case 'ParameterExpansion':
      return /^\$\{HOME\}$/.test(part.text) ? { text: '~', isLiteral: true } : namedOr(part.text);
    case 'ExtendedGlob':
    case 'BraceExpansion':
    case 'CommandExpansion':
    case 'ArithmeticExpansion':
    case 'ProcessSubstitution':
      return unknown;
    default:
      return part satisfies never;
  }
}

const namedOr = (text: string): Piece => (/^\$\{?PWD\}?$/.test(text) ? { text: '.', isLiteral: true } : unknown);

/** A word's text if it is known entirely; else null. */
export function literalOf(word: Word | undefined): string | null {
  if (word === undefined) return null;
  const arg = argOf(word);
  return arg.isLiteral && !arg.mayBecomeOption ? arg.text : null;
}

/** Variables that programs read to show or count something, and that cannot make them run anything. */
const HARMLESS = new Set([
  ...[
    'CI',
    'COLUMNS',
    'DEBUG',
    'FORCE_COLOR',
    'LANG',
    'LANGUAGE',
    'LC_ALL',
    'LC_CTYPE',
    'LINES',
    'NODE_ENV',
    'NO_COLOR',
  ],
  ...['CLICOLOR', 'CLICOLOR_FORCE', 'TERM', 'TZ', 'RUST_BACKTRACE', 'RUST_LOG', 'LOG_LEVEL', 'VERBOSE', 'PORT', 'HOST'],
]);

/** Whether setting a variable changes nothing but the script's own words: a lower-case name that no program reads. */
export const isHarmlessVariable = (name: string): boolean =>
  HARMLESS.has(name) || (/^[a-z_][a-z0-9_]*$/.test(name) && !name.endsWith('_proxy'));

/** Whether a variable of this name usually holds a key, a password or a token. */
export const namesSecret = (name: string): boolean =>
  /(?:^|[_$])(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_KEY|ACCESS_KEY|CREDENTIALS?)(?:_|$)/i.test(name);
