import type { GitSettingItem } from '@callboard/contract';
import { isAgreed } from '../../lib/git-agreement.ts';
import type { ConfigEntry } from './configuration.ts';
import { programKeyOf } from './program-keys.ts';

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
