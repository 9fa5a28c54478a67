import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { GitSettingItem } from '@callboard/contract';
import type { ConfigEntry } from './configuration.ts';
import type { CheckoutLocation } from './locate-checkout.ts';
import { HOOKS, programKeyOf } from './program-keys.ts';

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
export async function findPrograms(
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
export function hooksFolderOf(place: CheckoutLocation, entry: { value: string } | null, home: string): string {
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
