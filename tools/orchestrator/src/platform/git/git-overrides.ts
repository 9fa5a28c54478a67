import type { GitSettingItem } from '@callboard/contract';
import { isAgreed } from '../../lib/git-agreement.ts';
import type { ConfigEntry } from './locate-checkout.ts';

/** The configuration of a call that keeps git from running programs that nobody agreed to. */
export interface Overrides {
  /** Keys and values, in order. */
  config: (readonly [string, string])[];
  env: Record<string, string>;
  /** Why git must not be called; null if it may. */
  refusal: string | null;
}

const PART_OF_FILTER = /^(filter\..+)\.(clean|smudge|process)$/;

/**
 * Returns overrides that switch off the items that nobody agreed to. If the key has another valid value, the user's own or one
 * agreed to before, that value takes effect.
 */
export function overridesFor(
  entries: readonly ConfigEntry[],
  items: readonly GitSettingItem[],
  agreed: readonly GitSettingItem[],
  knowsVariables: boolean,
): Overrides {
  const overrides: Overrides = { config: [], env: {}, refusal: null };
  const refused = items.filter((item) => item.kind !== 'hook' && !isAgreed(agreed, item));
  for (const item of refused) {
    const { name: key, value } = item;
    const row = item.kind === 'config' ? programKeyOf(key, value) : undefined;
    if (row === undefined) overrides.refusal = refusalOf(item);
    else if ('env' in row.off) Object.assign(overrides.env, row.off.env);
    else if ('list' in row.off) overrides.config.push(...listWithout(entries, items, agreed, row.off.list));
    else if ('keys' in row.off) overrides.config.push(...row.off.keys(key, value));
    else if ('value' in row.off)
      overrides.config.push([key, effectiveValue(entries, items, agreed, key) ?? row.off.value]);
    // Git 2.30 cannot take such a key.
    if (key.includes('=') && !knowsVariables) overrides.refusal = refusalOf(item);
  }
  overrides.config.push(...requireBrokenFilters(entries, overrides.config));
  return overrides;
}

/** Returns the value of a key that somebody agreed to; undefined if there is none. */
export function effectiveValue(
  entries: readonly ConfigEntry[],
  items: readonly GitSettingItem[],
  agreed: readonly GitSettingItem[],
  key: string,
): string | undefined {
  const counting = entries.filter((entry) => entry.key === key && counts(entry, items, agreed));
  const local = counting.filter(({ isLocal }) => isLocal).at(-1)?.value;
  if (local !== undefined) return local;
  const isOverridden = entries.some((entry) => entry.key === key && entry.isLocal);
  const before = isOverridden ? agreed.filter((item) => item.name === key && canReturn(item)).at(-1) : undefined;
  return before?.value ?? counting.at(-1)?.value;
}

/** A value that names files may point to others by now. Hooks are checked one by one, wherever they are. */
const canReturn = ({ kind, name, value }: GitSettingItem): boolean =>
  kind === 'config' && (name === 'core.hookspath' || !value.includes('/'));

function counts(entry: ConfigEntry, items: readonly GitSettingItem[], agreed: readonly GitSettingItem[]): boolean {
  if (!entry.isLocal) return true;
  const same = items.filter(
    ({ kind, name, value }) => kind === 'config' && name === entry.key && value === entry.value,
  );
  return same.every((item) => isAgreed(agreed, item));
}

/** Returns the list from the beginning, with its allowed values. */
function listWithout(
  entries: readonly ConfigEntry[],
  items: readonly GitSettingItem[],
  agreed: readonly GitSettingItem[],
  list: string,
): [string, string][] {
  const saved = entries.filter(({ key }) => /^credential\.(.+\.)?helper$/.test(key));
  const counting = saved.filter((entry) => counts(entry, items, agreed));
  return [[list, ''], ...counting.map(({ key, value }): [string, string] => [key, value])];
}

/** A filter must fail if one of its parts is switched off and another works: it would write half-converted content. */
function requireBrokenFilters(
  entries: readonly ConfigEntry[],
  config: readonly (readonly [string, string])[],
): [string, string][] {
  const final = new Map([...entries.map(({ key, value }) => [key, value] as const), ...config]);
  const isUsed = (name: string) => ['clean', 'smudge', 'process'].some((part) => final.get(`${name}.${part}`));
  const off = config.flatMap(([key, value]) => (value === '' ? (PART_OF_FILTER.exec(key)?.[1] ?? []) : []));
  return [...new Set(off)].filter(isUsed).map((name) => [`${name}.required`, 'true']);
}

const NEXT_STEP = 'Agree to it on the project’s page if you know it';

function refusalOf({ kind, name, value, file }: GitSettingItem): string {
  return kind === 'repository'
    ? `${file} points to ${value}, which nobody has agreed to. ${NEXT_STEP}.`
    : `The setting ${name} = ${value} in ${file} can run a program and cannot be switched off. ${NEXT_STEP}, or remove it: git config --file '${file}' --unset-all '${name}'`;
}

/** Returns what to do if git failed because a filter is off; null for any other failure. */
export function explainFilterFailure(stderr: string, pending: readonly GitSettingItem[]): string | null {
  const [, name] = /(?:clean|smudge) filter '(.+)' failed/.exec(stderr) ?? [];
  const item = pending.find((one) => one.name.startsWith(`filter.${name ?? ''}.`));
  if (name === undefined || item === undefined) return null;
  return `The filter "${name}" is off because nobody has agreed to the setting ${item.name} = ${item.value} in ${item.file}, and without it files would get wrong contents. ${NEXT_STEP}, or remove it: git config --file '${item.file}' --remove-section 'filter.${name}'`;
}

/**
 * Switches git's hints off: they are for somebody at a terminal, and bury the line that matters. Newer git has one variable for
 * all of them (`GIT_ADVICE`, `run-git.ts`); these are the hints of older git that our calls can meet.
 */
export const NO_HINTS: readonly (readonly [string, string])[] = [
  ...['addEmbeddedRepo', 'addEmptyPathspec', 'addIgnoredFile', 'ambiguousFetchRefspec', 'commitBeforeMerge'],
  ...['checkoutAmbiguousRemoteBranchName', 'detachedHead', 'fetchShowForcedUpdates', 'graftFileDeprecated'],
  ...['ignoredHook', 'implicitIdentity', 'nestedTag', 'objectNameWarning', 'pushUpdateRejected'],
  ...['resetNoRefresh', 'resetQuiet', 'resolveConflict', 'rmHints', 'sequencerInUse', 'setUpstreamFailure'],
  ...['skippedCherryPicks', 'statusAheadBehindWarning', 'statusHints', 'statusUoption', 'submodulesNotUpdated'],
  ...['suggestDetachingHead', 'updateSparsePath', 'useCoreFSMonitorConfig', 'waitingForEditor', 'worktreeAddOrphan'],
  ...['diverging', 'forceDeleteBranch', 'mergeConflict', 'refSyntax', 'submoduleMergeConflict'],
].map((name) => [`advice.${name}`, 'false'] as const);

/** How a single call of git gets extra configuration. */
export interface CallOptions {
  /** Go before all other arguments. */
  args: string[];
  env: Record<string, string>;
}

/**
 * Passes configuration in variables, which leaves the command line alone; git 2.30 does not know them and gets `-c`.
 * Configuration that the user passes in the same variables stays and has lower precedence.
 */
export function callOptions(
  config: readonly (readonly [string, string])[],
  user: Readonly<Record<string, string>>,
  knowsVariables: boolean,
): CallOptions {
  if (!knowsVariables) return { args: config.flatMap(([key, value]) => ['-c', `${key}=${value}`]), env: {} };
  const first = countOf(user);
  const variables = config.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${first + at}`, key],
    [`GIT_CONFIG_VALUE_${first + at}`, value],
  ]);
  return { args: [], env: { ...Object.fromEntries(variables), GIT_CONFIG_COUNT: String(first + config.length) } };
}

/** Returns shell text that unsets the configuration of a call and keeps the user's. */
export const withoutCallOptions = (user: Readonly<Record<string, string>>): string =>
  `unset GIT_CONFIG_PARAMETERS; ${countOf(user) === 0 ? 'unset GIT_CONFIG_COUNT' : `GIT_CONFIG_COUNT=${countOf(user)}`}`;

const countOf = ({ GIT_CONFIG_COUNT = '' }: Readonly<Record<string, string>>): number =>
  /^\d{1,6}$/.test(GIT_CONFIG_COUNT) ? Number(GIT_CONFIG_COUNT) : 0;

/** Whether this version of git accepts configuration from variables (2.31 and newer). */
export function takesVariables(version: string): boolean {
  const [, major = '2', minor = '31'] = /(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 31);
}

/**
 * Every key of git's configuration that could make one of our calls run a program, and how to switch it off if the repository
 * sets it and nobody has agreed to it. `guard.ts` (fsmonitor, hooks) and `run-git.ts` (external diffs,
 * editor, askpass, redirections) restrict every call anyway.
 *
 * Left out, because none of our calls runs them: `alias.*`, `pager.*`, `core.pager`, `core.editor`, `sequence.editor`,
 * `interactive.diffFilter`, `trailer.*`, `difftool.*`, `mergetool.*`, `guitool.*`, `gui.*`, `man.*`, `browser.*`, `web.*`,
 * `instaweb.*`, `sendemail.*`, `tar.*`, `submodule.*.update`, `uploadpack.packObjectsHook` (git reads that one from the
 * user's configuration alone), `init.templateDir`. `core.worktree` and `core.bare` have no effect, since both folders are pinned.
 */
export interface ProgramKey {
  /** With sections and names in lower case, as `git config --list` prints them. */
  readonly keys: RegExp;
  /** The calls that would run it. */
  readonly runs: string;
  readonly off: Off;
  /** A value that runs nothing. */
  readonly isHarmless?: (value: string, key: string) => boolean;
}

export type Off =
  /** Another value; a value in the user's own configuration takes precedence. */
  | { readonly value: string }
  /** Other keys. */
  | { readonly keys: (key: string, value: string) => readonly (readonly [string, string])[] }
  | { readonly env: Readonly<Record<string, string>> }
  /** A list, which an empty value clears. */
  | { readonly list: string }
  /** Switched off in every call by an option, or by overrides of the keys that it includes. */
  | { readonly always: true };

const BOOLEAN = /^(true|false|yes|no|on|off|0|1|)$/i;
const FALSE = /^(false|no|off|0|)$/i;
const HELPER_URL = /^([a-z0-9]+)::/i;
const NEVER_AUTO = () => [['gc.auto', '0'] as const, ['maintenance.auto', 'false'] as const];

/** Git's default three-way merge of text, without a driver. */
const TEXT_MERGE = 'git merge-file --marker-size=%L %A %O %B';

/** Returns the transport helper in a URL: `ext` in `ext::sh -c ...`. */
const helperOf = (key: string, value: string): string | undefined =>
  HELPER_URL.exec(key.startsWith('url.') ? key.slice('url.'.length) : value)?.[1];

const NO_HELPER: Pick<ProgramKey, 'off' | 'isHarmless'> = {
  off: { keys: (key, value) => [[`protocol.${helperOf(key, value) ?? 'ext'}.allow`, 'never']] },
  isHarmless: (value, key) => helperOf(key, value) === undefined,
};

const FETCH = 'fetches of missing objects in a partial clone; pushes';

const PROGRAM_KEYS: readonly ProgramKey[] = [
  {
    keys: /^core\.fsmonitor$/,
    runs: 'status, add, diff, merge, checkout',
    off: { always: true },
    isHarmless: (v) => BOOLEAN.test(v),
  },
  { keys: /^core\.hookspath$/, runs: 'merge, commit, checkout, worktree add', off: { always: true } },
  { keys: /^core\.virtualfilesystem$/, runs: 'status, add, checkout (a fork of git)', off: { value: '' } },
  { keys: /^hook\..+\.command$/, runs: 'merge, commit, checkout (newer git)', off: { value: ':' } },
  {
    keys: /^filter\..+\.(clean|process)$/,
    runs: 'add, diff, status, commit, merge',
    off: { value: '' },
    isHarmless: (v) => v === '',
  },
  {
    keys: /^filter\..+\.smudge$/,
    runs: 'merge, checkout, worktree add',
    off: { value: '' },
    isHarmless: (v) => v === '',
  },
  { keys: /^lfs\.extension\..+\.(clean|smudge)$/, runs: 'whatever runs the LFS filter', off: { value: '' } },
  { keys: /^lfs\.customtransfer\..+\.(path|args)$/, runs: 'whatever runs the LFS filter', off: { value: '' } },
  { keys: /^lfs\.(.+\.)?standalonetransferagent$/, runs: 'whatever runs the LFS filter', off: { value: '' } },
  { keys: /^merge\..+\.driver$/, runs: 'merge, merge-tree, rebase', off: { value: TEXT_MERGE } },
  { keys: /^diff\.external$/, runs: 'diff', off: { always: true } },
  { keys: /^diff\..+\.(command|textconv)$/, runs: 'diff', off: { always: true } },
  {
    keys: /^(commit\.gpgsign|merge\.verifysignatures|log\.showsignature)$/,
    runs: 'merge, commit, log: the program for signatures',
    off: { value: 'false' },
    isHarmless: (v) => FALSE.test(v),
  },
  { keys: /^gpg\.(openpgp\.)?program$/, runs: 'merge and commit where they are signed', off: { value: 'gpg' } },
  { keys: /^gpg\.x509\.program$/, runs: 'merge and commit where they are signed', off: { value: 'gpgsm' } },
  { keys: /^gpg\.ssh\.program$/, runs: 'merge and commit where they are signed', off: { value: 'ssh-keygen' } },
  { keys: /^gpg\.ssh\.defaultkeycommand$/, runs: 'merge and commit where they are signed', off: { value: '' } },
  { keys: /^core\.sshcommand$/, runs: FETCH, off: { value: 'ssh' } },
  { keys: /^core\.askpass$/, runs: FETCH, off: { value: '' } },
  { keys: /^core\.gitproxy$/, runs: FETCH, off: { env: { GIT_PROXY_COMMAND: '' } } },
  { keys: /^core\.alternaterefscommand$/, runs: FETCH, off: { value: ':' } },
  {
    keys: /^credential\.(.+\.)?helper$/,
    runs: FETCH,
    off: { list: 'credential.helper' },
    isHarmless: (v) => v === '',
  },
  { keys: /^remote\..+\.uploadpack$/, runs: FETCH, off: { value: 'git-upload-pack' } },
  { keys: /^remote\..+\.receivepack$/, runs: FETCH, off: { value: 'git-receive-pack' } },
  {
    keys: /^remote\..+\.vcs$/,
    runs: FETCH,
    off: { keys: (_key, value) => [[`protocol.${value.toLowerCase()}.allow`, 'never']] },
  },
  { keys: /^remote\..+\.(url|pushurl)$/, runs: FETCH, ...NO_HELPER },
  { keys: /^url\..+\.(insteadof|pushinsteadof)$/, runs: FETCH, ...NO_HELPER },
  {
    keys: /^protocol\.(.+\.)?allow$/,
    runs: FETCH,
    off: { keys: (key) => (key === 'protocol.allow' ? [['protocol.ext.allow', 'never']] : [[key, 'never']]) },
    isHarmless: (value) => value === 'never',
  },
  {
    keys: /^submodule\.recurse$/,
    runs: 'git in submodules, at a checkout',
    off: { value: 'false' },
    isHarmless: (v) => FALSE.test(v),
  },
  { keys: /^gc\.recentobjectshook$/, runs: 'the garbage collection after a merge', off: { keys: NEVER_AUTO } },
  { keys: /^include(if\..+)?\.path$/, runs: 'nothing itself; includes other keys', off: { always: true } },
];

/** Returns the row of a key if its value can run a program; undefined otherwise. */
export function programKeyOf(key: string, value: string): ProgramKey | undefined {
  const row = PROGRAM_KEYS.find(({ keys }) => keys.test(key));
  return row?.isHarmless?.(value, key) === true ? undefined : row;
}

/** The hooks that our calls can run. */
export const HOOKS: ReadonlySet<string> = new Set([
  ...['applypatch-msg', 'pre-applypatch', 'post-applypatch', 'pre-commit', 'pre-merge-commit', 'prepare-commit-msg'],
  ...['commit-msg', 'post-commit', 'pre-rebase', 'post-checkout', 'post-merge', 'pre-push', 'post-rewrite'],
  ...['reference-transaction', 'post-index-change', 'pre-auto-gc'],
]);
