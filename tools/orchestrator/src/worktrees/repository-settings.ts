import { dirname, join } from 'node:path';
import { inMainCheckout, LOCAL, MCP, SHARED } from '../lib/settings-files.ts';
import { folderTree, type RepositoryTree } from './repository-tree.ts';

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
