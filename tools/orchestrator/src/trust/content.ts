import { createHash } from 'node:crypto';
import type { RepositorySettings, SettingsFile } from '../worktrees/repository-settings.ts';
import { frontmatterItems } from './frontmatter.ts';
import { type Found, mcpItems, settingsItems } from './settings-items.ts';

/** What settings files switch on, each item with its fingerprint. */
export interface TrustContent {
  /** The repository's items, which are trusted as a whole. */
  items: RowCaches[];
  /** Items that the person allowed in a terminal; each is agreed to separately. */
  personal: RowCaches[];
  /** The hash of the repository's items; empty without any. */
  hash: string;
}

export interface RowCaches extends Found {
  /** Equal for the same item in the same file, as long as the scripts that it names are unchanged. */
  fingerprint: string;
}

const SCRIPTS_OF_ONE = 20;

/** Reads what the files switch on, and the scripts of the repository that they run. */
export async function contentOf({ files, read }: RepositorySettings): Promise<TrustContent> {
  const found = files.flatMap((file) => itemsOf(file).map((item) => ({ item, isPersonal: isPersonal(file, item) })));
  const known = await Promise.all(
    found.map(async ({ item, isPersonal }) => ({ isPersonal, ...item, fingerprint: await fingerprint(item, read) })),
  );
  const items = known.filter((item) => !item.isPersonal);
  return { items, personal: known.filter((item) => item.isPersonal), hash: hashOf(items) };
}

/** Returns the hash of the items; duplicates do not change it. */
const hashOf = (items: readonly Pick<RowCaches, 'fingerprint'>[]): string =>
  items.length === 0 ? '' : sha256([...new Set(items.map((item) => item.fingerprint))].toSorted().join('\n'));

export function itemsOf(file: SettingsFile): Found[] {
  switch (file.kind) {
    case 'settings':
      return settingsItems(file);
    case 'mcp':
      return mcpItems(file);
    default:
      return frontmatterItems(file);
  }
}

const isPersonal = (file: SettingsFile, { kind }: Found) =>
  file.isPersonal && (kind === 'rule' || kind === 'directory');

async function fingerprint(item: Found, read: RepositorySettings['read']): Promise<string> {
  const scripts = [...new Set(item.commands.flatMap(pathsIn))].slice(0, SCRIPTS_OF_ONE).toSorted();
  const texts = await Promise.all(scripts.map(async (path) => [path, await read(path)] as const));
  const run = texts.flatMap(([path, text]) => (text === null ? [] : [[path, sha256(text)]]));
  return sha256(JSON.stringify([item.kind, item.text, item.value, item.file, run]));
}

/** Returns the words of a command that may be files of the repository: `$CLAUDE_PROJECT_DIR/.claude/check.sh`, `./scripts/lint`, `tools/x.py`. */
function pathsIn(command: string): string[] {
  return command
    .replaceAll(/["']?\$\{?CLAUDE_PROJECT_DIR\}?["']?\//g, './')
    .split(/[\s"'`;|&()<>=]+/)
    .map((word) => word.replace(/^(\.\/)+/, ''))
    .filter((word) => /[./]/.test(word) && !/^[/~$-]|(^|\/)\.\.(\/|$)|[*?\\{}[\]:]/.test(word) && word.length < 500);
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
