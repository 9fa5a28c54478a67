import { createHash } from 'node:crypto';
import type { RepositorySettings, SettingsFile } from '../worktrees/repository-settings.ts';
import { frontmatterItems } from './frontmatter.ts';
import { type Found, mcpItems, settingsItems } from './settings-items.ts';

/** What settings files switch on, each with what it is known by. */
export interface TrustContent {
  /** Of the repository: what trust is bound to as a whole. */
  items: Known[];
  /** What the person allowed in a terminal; each counts by itself. */
  personal: Known[];
  /** Of all items of the repository; empty without any. */
  hash: string;
}

export interface Known extends Found {
  /** The same for the same thing in the same file, as long as the scripts that it names stay the same too. */
  fingerprint: string;
}

const SCRIPTS_OF_ONE = 20;

/** Reads what the files switch on, and the scripts that they run as far as those are files of the repository. */
export async function contentOf({ files, read }: RepositorySettings): Promise<TrustContent> {
  const found = files.flatMap((file) => itemsOf(file).map((item) => ({ item, isPersonal: isPersonal(file, item) })));
  const known = await Promise.all(
    found.map(async ({ item, isPersonal }) => ({ isPersonal, ...item, fingerprint: await fingerprint(item, read) })),
  );
  const items = known.filter((item) => !item.isPersonal);
  return { items, personal: known.filter((item) => item.isPersonal), hash: hashOf(items) };
}

/** What was agreed to as a whole. Where the same stands twice changes nothing. */
const hashOf = (items: readonly Pick<Known, 'fingerprint'>[]): string =>
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

/** What in a command may be a file of the repository: `$CLAUDE_PROJECT_DIR/.claude/check.sh`, `./scripts/lint`, `tools/x.py`. */
function pathsIn(command: string): string[] {
  return command
    .replaceAll(/["']?\$\{?CLAUDE_PROJECT_DIR\}?["']?\//g, './')
    .split(/[\s"'`;|&()<>=]+/)
    .map((word) => word.replace(/^(\.\/)+/, ''))
    .filter((word) => /[./]/.test(word) && !/^[/~$-]|(^|\/)\.\.(\/|$)|[*?\\{}[\]:]/.test(word) && word.length < 500);
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
