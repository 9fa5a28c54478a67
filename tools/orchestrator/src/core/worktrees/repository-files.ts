import { dirname, join } from 'node:path';
import type { Git } from '../../platform/git/git.ts';
import type { GitResult } from '../../platform/git/run-git.ts';
import { folderTree, headTree, type RepositoryTree } from './repository-tree.ts';

/** A whole id names the same commit forever; git reads it as an id even if a branch is called like this. */
const WHOLE_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const MAX_SAVED = 500;
/** A longer text is read again each time. */
const MAX_SAVED_LENGTH = 64 * 1024;

/**
 * Reads files of commits. What a whole commit id tells is read once: a stage asks for the same file at each step.
 * @param git runs git in a repository; only reads objects
 */
export function createCommittedFiles(
  git: (repository: string, args: readonly string[]) => Promise<GitResult>,
): (repository: string, revision: string, path: string) => Promise<string | null> {
  const saved = new Map<string, Promise<string | null>>();

  async function read(
    repository: string,
    revision: string,
    path: string,
  ): Promise<{ text: string | null; isKnown: boolean }> {
    let isKnown = true;
    const watched = async (args: readonly string[]) => {
      const result = await git(repository, args);
      if (result.failed) isKnown = false; // it does not tell whether there is such a file
      return result;
    };
    const text = await headTree(watched, revision).read(path);
    return { text, isKnown };
  }

  return async (repository, revision, path) => {
    if (revision.startsWith('-')) return null;
    if (!WHOLE_ID.test(revision)) return (await read(repository, revision, path)).text;
    const key = JSON.stringify([repository, revision, path]);
    const before = saved.get(key);
    if (before !== undefined) return before;
    const reading = read(repository, revision, path);
    saved.set(
      key,
      reading.then(({ text }) => text),
    );
    const { text, isKnown } = await reading.catch((error: unknown) => {
      saved.delete(key);
      throw error;
    });
    if (!isKnown || (text?.length ?? 0) > MAX_SAVED_LENGTH) saved.delete(key);
    if (saved.size > MAX_SAVED) saved.delete(saved.keys().next().value ?? '');
    return text;
  };
}

/** Every letter that a person types asks for the list; git reads it again after this long. */
const FRESH_MS = 5_000;

/** As many as a list beneath a text box can show. */
const LIMIT = 20;

/**
 * Returns the files of a checkout that match the query, best first: files that git tracks, and new ones that it does not ignore.
 * @throws OperationalError `worktree_failed`
 */
export type SuggestFiles = (checkout: string, query: string) => Promise<string[]>;

/** Keeps each list of files for five seconds, so that people who type at the same time cost one run of git. */
export function createFileSuggestions(git: Git): SuggestFiles {
  const lists = new Map<string, Promise<readonly string[]>>();

  async function read(checkout: string): Promise<readonly string[]> {
    const [listed, deleted] = await Promise.all([
      git.must(checkout, ['ls-files', '-z', '--cached', '--others', '--exclude-standard']),
      git.must(checkout, ['ls-files', '-z', '--deleted']),
    ]);
    const gone = new Set(deleted.split('\0'));
    return [...new Set(listed.split('\0'))].filter((path) => path !== '' && !gone.has(path));
  }

  function filesOf(checkout: string): Promise<readonly string[]> {
    const known = lists.get(checkout);
    if (known !== undefined) return known;
    const list = read(checkout);
    lists.set(checkout, list);
    const forget = () => lists.delete(checkout);
    list.then(() => setTimeout(forget, FRESH_MS).unref(), forget);
    return list;
  }

  return async (checkout, query) => rankFiles(await filesOf(checkout), query, LIMIT);
}

/** Returns how well a path matches: 0 is best, null is no match. */
function rankOf(path: string, query: string): number | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (name.startsWith(query)) return 0;
  if (path.startsWith(query) || path.includes(`/${query}`)) return 1;
  if (name.includes(query)) return 2;
  if (path.includes(query)) return 3;
  return isSubsequence(path, query) ? 4 : null;
}

/** Whether the path has the letters of the query in this order, with anything between them. */
function isSubsequence(path: string, query: string): boolean {
  let from = 0;
  for (const letter of query) {
    const at = path.indexOf(letter, from);
    if (at === -1) return false;
    from = at + letter.length;
  }
  return true;
}

interface Ranked {
  path: string;
  rank: number;
}

/** Whether `a` goes first: by rank, then fewer folders, then shorter, then alphabetically. */
function goesFirst(a: Ranked, b: Ranked): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank;
  const depth = depthOf(a.path) - depthOf(b.path);
  if (depth !== 0) return depth < 0;
  return a.path.length === b.path.length ? a.path < b.path : a.path.length < b.path.length;
}

function depthOf(path: string): number {
  let depth = 0;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) depth += 1;
  return depth;
}

/**
 * Returns the paths that match the query, best first: the file's name begins with it, a folder's name does, the name or the
 * path contains it, or the path has its letters in order. Ignores case. One pass over all paths.
 */
export function rankFiles(paths: readonly string[], query: string, limit: number): string[] {
  const wanted = query.toLowerCase();
  const best: Ranked[] = [];
  for (const path of paths) {
    const rank = rankOf(path.toLowerCase(), wanted);
    if (rank === null) continue;
    const ranked = { path, rank };
    const last = best.at(-1);
    if (best.length === limit && last !== undefined && !goesFirst(ranked, last)) continue;
    const place = best.findIndex((other) => goesFirst(ranked, other));
    best.splice(place === -1 ? best.length : place, 0, ranked);
    if (best.length > limit) best.pop();
  }
  return best.map(({ path }) => path);
}

/**
 * Reads the files with which a repository, or its main checkout, can change how Claude Code works, as Claude Code reads them
 * in a worktree (docs/protocol.md, "Settings and trust").
 */

/** Folders whose Markdown files can contain settings. */
type Extra = 'agents' | 'commands' | 'skills';
const EXTRAS: readonly Extra[] = ['agents', 'commands', 'skills'];

export interface SettingsFile {
  /** Determines how it is parsed. */
  kind: 'settings' | 'mcp' | Extra;
  /** The name for people: relative to the repository; for files outside the worktree, with their location. */
  name: string;
  text: string;
  /** The untracked local settings of the main checkout, with what the person allowed "for this project" in a terminal. */
  isPersonal: boolean;
}

/** All settings files, and access to the other files that they may name. */
export interface RepositorySettings {
  files: SettingsFile[];
  /** Returns the text of another file of the repository; null if there is none. */
  read(path: string): Promise<string | null>;
}

export interface SettingsLocation {
  /** The worktree, or the commit that one would be created from. */
  tree: RepositoryTree;
  /** The main checkout. */
  checkout: RepositoryTree;
  /** Whether the local settings are committed to the repository. */
  isLocalCommitted: boolean;
  /** Absolute paths of folders above the worktree in which Claude Code also looks for MCP servers. */
  above: readonly string[];
}

/** Reads all settings files. */
export async function repositorySettings(location: SettingsLocation): Promise<RepositorySettings> {
  const { tree, checkout, isLocalCommitted, above } = location;
  const file = (kind: SettingsFile['kind'], name: string, text: string | null, isPersonal = false): SettingsFile[] =>
    text === null ? [] : [{ kind, name, text, isPersonal }];
  const [shared, local, ofCheckout, mcp] = await Promise.all([
    tree.read(SHARED),
    tree.read(LOCAL),
    checkout.read(LOCAL),
    tree.read(MCP),
  ]);
  const outside = await Promise.all(
    above.map(async (folder) => file('mcp', `${folder}/${MCP}`, await folderTree(folder).read(MCP))),
  );
  const extras = await Promise.all(EXTRAS.map((extra) => extraFiles(tree, checkout, extra)));
  return {
    files: [
      ...file('settings', SHARED, shared),
      // A copy of the main checkout's file adds nothing.
      ...(local === ofCheckout ? [] : file('settings', LOCAL, local)),
      ...file('settings', inMainCheckout(LOCAL), ofCheckout, !isLocalCommitted),
      ...file('mcp', MCP, mcp),
      ...outside.flat(),
      ...extras.flat(),
    ],
    read: (path) => tree.read(path),
  };
}

/** Reads only the settings files from the disk: cheap enough to repeat often. */
export async function settingsFiles(worktree: string, checkout: string): Promise<SettingsFile[]> {
  const tree = folderTree(worktree);
  const texts = await Promise.all([tree.read(SHARED), tree.read(LOCAL), folderTree(checkout).read(LOCAL)]);
  const names = [SHARED, LOCAL, inMainCheckout(LOCAL)];
  return texts.flatMap((text, index): SettingsFile[] =>
    text === null ? [] : [{ kind: 'settings', name: names[index] ?? SHARED, text, isPersonal: index === 2 }],
  );
}

/** Returns the paths that `settingsFiles` reads. */
export const settingsPaths = (worktree: string, checkout: string): string[] =>
  [[worktree, SHARED] as const, [worktree, LOCAL] as const, [checkout, LOCAL] as const].map((parts) => join(...parts));

/** Reads the Markdown files of a folder; those of the main checkout if the worktree has no such folder (tried). */
async function extraFiles(tree: RepositoryTree, main: RepositoryTree, kind: Extra): Promise<SettingsFile[]> {
  const folder = `.claude/${kind}`;
  const own = await tree.list(folder);
  const source = own === null ? main : tree;
  const paths = (own ?? (await main.list(folder)) ?? []).filter((path) =>
    kind === 'skills' ? path.endsWith('/SKILL.md') : path.endsWith('.md'),
  );
  const read = await Promise.all(paths.map(async (path) => ({ path, text: await source.read(path) })));
  return read.flatMap(({ path, text }) =>
    text === null ? [] : [{ kind, name: own === null ? inMainCheckout(path) : path, text, isPersonal: false }],
  );
}

/** Returns the folders between a worktree and the data directory, including the data directory. */
export function foldersAbove(worktree: string, dataDir: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(worktree); folder.startsWith(dataDir); folder = dirname(folder)) folders.push(folder);
  return folders;
}

/** The paths where Claude Code reads settings in a repository, relative to its folder, with `/`. */
export const SHARED = '.claude/settings.json';
export const LOCAL = '.claude/settings.local.json';
export const MCP = '.mcp.json';

/** Names, for people, a file of the main checkout, which applies to all worktrees. */
export const inMainCheckout = (path: string) => `${path} (main checkout)`;
