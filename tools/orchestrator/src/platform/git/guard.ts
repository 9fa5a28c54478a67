import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chmod, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { GitSettingItem } from '@callboard/contract';
import { OperationalError } from '../../lib/errors.ts';
import { isAgreed } from '../../lib/git-agreement.ts';
import { signOf } from '../files.ts';
import {
  callOptions,
  effectiveValue,
  HOOKS,
  NO_HINTS,
  overridesFor,
  programKeyOf,
  takesVariables,
  withoutCallOptions,
} from './git-overrides.ts';
import {
  type CachedRepository,
  type CheckoutLocation,
  type ConfigEntry,
  LIST_CONFIGURATION,
  locateCheckout,
  locateWorktree,
  parseConfiguration,
  pinned,
  type Repositories,
} from './locate-checkout.ts';
import { type GitResult, PINNING_VARIABLES, runsHooks, withSafeOptions } from './run-git.ts';

/** A call of git that runs only programs that somebody agreed to. */
export interface GuardedCall {
  args: string[];
  env: Record<string, string>;
  /** Why git must not be called; null if it may. */
  refusal: string | null;
  pending: readonly GitSettingItem[];
}

export interface GitGuard {
  /** Prepares a call. @throws OperationalError `worktree_failed` if a worktree's `.git` file leads elsewhere */
  prepare(cwd: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<GuardedCall>;
  /** Returns the settings of the repository at this folder that nobody has agreed to, read now. */
  inspect(root: string): Promise<readonly GitSettingItem[]>;
  /** Returns a fingerprint of the configuration at this folder, and of what people agreed to. */
  settingsOf(root: string): Promise<string>;
}

export interface GuardDeps extends InspectionDeps {
  repositories: Repositories;
  /** Callboard's own folder for hooks. */
  hooksBase: string;
}

export function createGitGuard(deps: GuardDeps): GitGuard {
  const { run, env: userEnv, hooksBase } = deps;
  const review = createReview(deps, createInspection(deps));
  let version: ReturnType<typeof run> | undefined;

  async function knowsVariables(): Promise<boolean> {
    version ??= run('/', ['version'], {});
    return takesVariables((await version).stdout);
  }

  return {
    async prepare(cwd, args, env) {
      const safe = withSafeOptions(args);
      const reviewed = env.GIT_DIR === undefined ? await review(cwd) : null;
      if (reviewed === null) {
        const off = callOptions([...NO_HINTS, ...OFF, ['core.hooksPath', NO_HOOKS]], userEnv, await knowsVariables());
        return { args: [...off.args, ...safe], env: { ...off.env, ...env }, refusal: null, pending: [] };
      }
      const { place, agreed, inspection, items, pending, hooksFolder } = reviewed;
      const isNew = await knowsVariables();
      const overrides = overridesFor(inspection.entries, items, agreed, isNew);
      const fsmonitor = effectiveValue(inspection.entries, items, agreed, 'core.fsmonitor') ?? '';
      const folder = inspection.programs.hooks.get(hooksFolder);
      const hooks = (folder?.hooks ?? []).filter((hook) => folder?.isUsers === true || isAgreed(agreed, hook));
      // Without pending settings, git calls inside a hook run with the user's configuration alone; otherwise they stay restricted.
      const before = pending.length > 0 ? '' : withoutCallOptions(userEnv);
      const hooksPath = runsHooks(args) ? await makeHooksFolder(hooksBase, hooks, before) : NO_HOOKS;
      const all = [
        ...NO_HINTS,
        ...overrides.config,
        ['core.fsmonitor', fsmonitor] as const,
        ['core.hooksPath', hooksPath] as const,
      ];
      const options = callOptions(all, userEnv, isNew);
      return {
        args: [...options.args, ...safe],
        env: { ...pinned(place), ...options.env, ...overrides.env, ...env },
        refusal: overrides.refusal,
        pending,
      };
    },
    inspect: async (root) => {
      knowsVariables().catch(() => undefined); // starts early: the next call of git waits for it
      return (await review(root))?.pending ?? [];
    },
    settingsOf: async (root) => {
      const { inspection, agreed, pending } = (await review(root)) ?? {};
      return createHash('sha256')
        .update(JSON.stringify([inspection?.entries, agreed, pending]))
        .digest('hex');
    },
  };
}

/** A checkout's settings, and which of them people agreed to. */
interface Review {
  place: CheckoutLocation;
  agreed: readonly GitSettingItem[];
  inspection: Inspection;
  /** Settings of the repository that can run programs, without hooks. */
  items: GitSettingItem[];
  /** What nobody has agreed to, hooks included. */
  pending: GitSettingItem[];
  /** The folder that hooks are taken from. */
  hooksFolder: string;
}

/** Compares the settings of a checkout with what people agreed to, and reports the rest; null if the folder is no checkout. */
function createReview({ repositories, env }: GuardDeps, inspect: Inspect): (folder: string) => Promise<Review | null> {
  const home = env.HOME ?? '/';
  const reported = new Map<string, string>();

  async function agreeOnFirstUse(known: CachedRepository, main: CheckoutLocation): Promise<readonly GitSettingItem[]> {
    const { programs } = await inspect(main, []);
    const hooks = [...programs.hooks.values()].flatMap((folder) => folder.hooks);
    return repositories.agreeOnFirstUse(known.id, [...programs.items, ...foreignGitDir(main), ...hooks]);
  }

  function report(known: CachedRepository, place: CheckoutLocation, pending: readonly GitSettingItem[]): void {
    const now = JSON.stringify(pending);
    const before = reported.get(place.gitDir) ?? (known.agreed === null ? '[]' : undefined);
    if (before === now) return;
    reported.set(place.gitDir, now);
    repositories.reportPending(known.id, place.gitDir, pending);
  }

  return async (folder) => {
    const known = await repositories.find(folder);
    const main = locateCheckout(known?.root ?? folder);
    if (main === null) return null;
    const place = known === null || known.root === folder ? main : locateWorktree(folder, main);
    const agreed = known === null ? [] : (known.agreed ?? (await agreeOnFirstUse(known, main)));
    const inspection = await inspect(place, agreed);
    const items = [...inspection.programs.items, ...(place === main && known !== null ? foreignGitDir(main) : [])];
    const hooksPath = effectiveValue(inspection.entries, items, agreed, 'core.hookspath');
    const hooksFolder = hooksFolderOf(place, hooksPath === undefined ? null : { value: hooksPath }, home);
    const hooks = [inspection.programs.hooksFolder, hooksFolder].flatMap((path) => repositoryHooks(inspection, path));
    const pending = [...items, ...hooks].filter((item) => !isAgreed(agreed, item));
    if (known !== null) report(known, place, pending);
    return { place, agreed, inspection, items, pending, hooksFolder };
  };
}

const OFF: [string, string][] = [['core.fsmonitor', '']];

/** A main checkout whose `.git` is not a folder could lead to another repository. */
const foreignGitDir = ({ root, gitDir, isPlain }: CheckoutLocation): GitSettingItem[] =>
  isPlain ? [] : [{ kind: 'repository', name: '.git', value: gitDir, file: join(root, '.git'), contents: null }];

/** Hooks of the repository; the user's own hooks need no agreement. */
function repositoryHooks({ programs }: Inspection, path: string): GitSettingItem[] {
  const folder = programs.hooks.get(path);
  return folder === undefined || folder.isUsers ? [] : folder.hooks;
}

/** The programs that git would run in a checkout because of the repository's own settings. */
export interface GitPrograms {
  /** Keys in the repository's configuration. */
  items: GitSettingItem[];
  /** Hooks by folder. */
  hooks: ReadonlyMap<string, HookFolder>;
  /** The hooks folder that git would use. */
  hooksFolder: string;
  /** All files that the result depends on; some may not exist. */
  watched: string[];
}

export interface HookFolder {
  /** The user's own folder, outside the repository: its hooks need no agreement. */
  isUsers: boolean;
  hooks: GitSettingItem[];
}

/** How much of a hook is shown, in characters. */
const EXCERPT = 1_000;
const WORDS_CHECKED = 20;

/**
 * Finds programs by reading the files that a configuration names; runs nothing.
 * @param agreedHooksPaths values of `core.hooksPath` that take effect again if the current one is switched off
 */
async function findPrograms(
  place: CheckoutLocation,
  entries: readonly ConfigEntry[],
  home: string,
  agreedHooksPaths: readonly string[],
): Promise<GitPrograms> {
  const watched: string[] = [];
  const items: GitSettingItem[] = [];
  const local = entries.filter(({ isLocal }) => isLocal);
  for (const { key: name, value, file } of local) {
    if (programKeyOf(name, value) === undefined) continue;
    const named = name === 'core.hookspath' ? [] : filesNamedIn(value, place.root);
    watched.push(...named);
    items.push({ kind: 'config', name, value, file, contents: await hashOf(named) });
  }
  const hooks = new Map<string, HookFolder>();
  const paths = entries.filter(({ key }) => key === 'core.hookspath');
  const before = agreedHooksPaths.map((value) => ({ value, isLocal: true }));
  for (const entry of [null, ...before, ...paths]) {
    const folder = hooksFolderOf(place, entry, home);
    if (hooks.has(folder)) continue;
    const isUsers = entry !== null && !entry.isLocal && isAbsolute(expand(entry.value, home));
    hooks.set(folder, { isUsers, hooks: await hooksIn(folder, watched) });
  }
  return { items, hooks, hooksFolder: hooksFolderOf(place, paths.at(-1) ?? null, home), watched };
}

/** Returns the folder in which git looks for hooks, with this entry of `core.hooksPath` or, for null, without one. */
function hooksFolderOf(place: CheckoutLocation, entry: { value: string } | null, home: string): string {
  return entry === null || entry.value === ''
    ? join(place.commonDir, 'hooks')
    : resolve(place.root, expand(entry.value, home));
}

const expand = (path: string, home: string): string => (path.startsWith('~/') ? join(home, path.slice(2)) : path);

async function hooksIn(folder: string, watched: string[]): Promise<GitSettingItem[]> {
  watched.push(folder);
  const names = await readdir(folder).catch(() => []);
  const hooks: GitSettingItem[] = [];
  for (const name of names.filter((each) => HOOKS.has(each)).sort()) {
    const file = join(folder, name);
    // Husky's files in "_" call the file of the same name in the parent folder.
    const further = basename(folder) === '_' ? [join(dirname(folder), name), join(folder, 'h')] : [];
    watched.push(file, ...further);
    if (!(await isExecutable(file))) continue;
    const shown = (await textOf(further[0] ?? file)) ?? (await textOf(file)) ?? '';
    const value = shown.length > EXCERPT ? `${shown.slice(0, EXCERPT)}…` : shown;
    hooks.push({ kind: 'hook', name, value, file, contents: await hashOf([file, ...further]) });
  }
  return hooks;
}

/** Returns the words of a command that may be files in the repository, or absolute paths. */
function filesNamedIn(command: string, root: string): string[] {
  const words = command.split(/[\s'"=;|&()<>]+/).slice(0, WORDS_CHECKED);
  return words.filter((word) => word.includes('/') && !word.includes('%')).map((word) => resolve(root, word));
}

async function hashOf(files: readonly string[]): Promise<string | null> {
  const hash = createHash('sha256');
  let isAny = false;
  for (const file of files) {
    const content = await readFile(file).catch(() => null);
    if (content === null) continue;
    isAny = true;
    hash.update(`${content.length}\n`).update(content);
  }
  return isAny ? hash.digest('hex') : null;
}

const textOf = (file: string): Promise<string | undefined> => readFile(file, 'utf8').catch(() => undefined);

const isExecutable = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );

/** A hooks folder without hooks. */
const NO_HOOKS = '/dev/null';

/**
 * Creates a folder for `core.hooksPath` with exactly these hooks. Each one runs the original hook as if a person had called
 * git: without the variables that pin our calls to the repository.
 *
 * @param before shell text to run first
 * @returns the folder
 */
async function makeHooksFolder(
  base: string,
  hooks: readonly { name: string; file: string }[],
  before: string,
): Promise<string> {
  if (hooks.length === 0) return NO_HOOKS;
  const start = `#!/bin/sh\nunset GIT_ADVICE ${PINNING_VARIABLES.join(' ')}\n${before}\n`;
  const scripts = hooks.map(({ name, file }) => ({ name, text: `${start}exec ${quoted(file)} "$@"\n` }));
  const beforeMerge = hooks.find(({ name }) => name === 'pre-merge-commit');
  if (beforeMerge !== undefined) {
    const own = scripts.find(({ name }) => name === REFERENCES);
    const text = mergingHook(start, beforeMerge.file, hooks.find(({ name }) => name === REFERENCES)?.file);
    if (own === undefined) scripts.push({ name: REFERENCES, text });
    else own.text = text;
  }
  const id = createHash('sha256').update(JSON.stringify(scripts)).digest('hex').slice(0, 16);
  const folder = join(base, id);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const { name, text } of scripts) await put(join(folder, name), text);
  return folder;
}

/**
 * The variable with the branch (`refs/heads/...`) that a fast-forward to a merge commit moves. Git runs `pre-merge-commit` only
 * if it makes the commit itself, after it has written the files. With this variable it runs at the same point: the files and the
 * index have the merge, and the branch does not.
 */
export const MERGES_INTO = 'CB_MERGES_INTO';

const REFERENCES = 'reference-transaction';

const quoted = (file: string): string => `'${file.replaceAll("'", "'\\''")}'`;

/** Returns the text of a hook `reference-transaction`: runs `pre-merge-commit` before the branch moves, and the repository's own. */
function mergingHook(start: string, beforeMerge: string, own: string | undefined): string {
  const lines = [
    `if [ -n "$${MERGES_INTO}" ]; then`,
    '  updates=$(cat)',
    `  case "$1 $updates" in "prepared "*" $${MERGES_INTO}"*)`,
    `    ${own === undefined ? 'exec ' : ''}${quoted(beforeMerge)} </dev/null ${own === undefined ? '' : '|| exit 1 '};;`,
    '  esac',
    ...(own === undefined ? [] : [`  printf '%s\\n' "$updates" | ${quoted(own)} "$@"`, '  exit']),
    'fi',
    own === undefined ? 'exit 0' : `exec ${quoted(own)} "$@"`,
  ];
  return `${start}${lines.join('\n')}\n`;
}

/** Replaces the file atomically: another call may be running it. */
async function put(file: string, text: string): Promise<void> {
  const there = await readFile(file, 'utf8').catch(() => null);
  if (there === text) return;
  const draft = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(draft, text, { mode: 0o700 });
  await chmod(draft, 0o700);
  await rename(draft, file);
}

/** The configuration of a checkout, and the programs that git would run because of it. */
export interface Inspection {
  entries: ConfigEntry[];
  programs: GitPrograms;
}

export interface InspectionDeps {
  /** Runs git without the guard; reading the configuration runs nothing else. */
  run(cwd: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<GitResult>;
  /** The environment that git gets. */
  env: Readonly<Record<string, string>>;
}

/** @throws OperationalError `worktree_failed` if git cannot list the configuration */
export type Inspect = (place: CheckoutLocation, agreed: readonly GitSettingItem[]) => Promise<Inspection>;

/** Reads a checkout's configuration and hooks, and again only when one of the files that they depend on has changed. */
function createInspection({ run, env }: InspectionDeps): Inspect {
  const home = env.HOME ?? '/';
  /** By git directory: the last result, and the signature of its files. */
  const cache = new Map<string, Inspection & { signature: string }>();

  async function read(place: CheckoutLocation, hooksPaths: readonly string[]): Promise<Inspection> {
    const { failed, stdout, stderr } = await run(place.root, LIST_CONFIGURATION, pinned(place));
    if (failed) throw new OperationalError('worktree_failed', `git config --list failed in ${place.root}: ${stderr}`);
    const entries = parseConfiguration(stdout, place);
    return { entries, programs: await findPrograms(place, entries, home, hooksPaths) };
  }

  function watchedFiles(place: CheckoutLocation, { entries, programs }: Inspection): string[] {
    const users = [env.GIT_CONFIG_GLOBAL, join(home, '.gitconfig'), '/etc/gitconfig'];
    const xdg = join(env.XDG_CONFIG_HOME ?? join(home, '.config'), 'git', 'config');
    const own = [join(place.commonDir, 'config'), join(place.gitDir, 'config.worktree')];
    const files = [...own, ...users, xdg, ...entries.map(({ file }) => file), ...programs.watched];
    return [...new Set(files.filter((file) => file?.startsWith('/')))].filter((file) => file !== undefined);
  }

  /** The files that matter in a repository without unusual settings. */
  const usualFiles = (place: CheckoutLocation): string[] =>
    watchedFiles(place, { entries: [], programs: { ...NO_PROGRAMS, watched: [join(place.commonDir, 'hooks')] } });

  return async (place, agreed) => {
    const hooksPaths = agreed.filter(({ name }) => name === 'core.hookspath').map(({ value }) => value);
    const signatureOf = (watched: readonly string[], signs: string) => JSON.stringify([hooksPaths, watched, signs]);
    const sign = (inspection: Inspection) => {
      const watched = watchedFiles(place, inspection);
      return signatureOf(watched, signOf(watched));
    };
    const known = cache.get(place.gitDir);
    if (known !== undefined && sign(known) === known.signature) return known;
    // Only the result says which files matter, and it must not be older than their signature. So the usual files are
    // signed before reading; if others matter as well, it is read once more after those are signed.
    const before = new Map(usualFiles(place).map((file) => [file, signOf([file])]));
    let inspection = await read(place, hooksPaths);
    const watched = watchedFiles(place, inspection);
    const isUsual = watched.every((file) => before.has(file));
    const signature = isUsual
      ? signatureOf(watched, watched.map((file) => before.get(file)).join('\n'))
      : sign(inspection);
    if (!isUsual) inspection = await read(place, hooksPaths);
    const saved = { ...inspection, signature };
    cache.set(place.gitDir, saved);
    return saved;
  };
}

const NO_PROGRAMS: GitPrograms = { items: [], hooks: new Map(), hooksFolder: '', watched: [] };
