import type { TrustKind } from '@callboard/contract';
import { inMainCheckout, LOCAL, SHARED } from '../lib/settings-files.ts';
import type { RepositorySettings } from '../worktrees/repository-settings.ts';
import { HARMLESS } from './known-keys.ts';
import { isObject, parseSettings } from './settings-items.ts';

/** What a launch still gets of settings files that are left out, and what it lacks without them. */

/** Later files override earlier ones. */
const FILES = [SHARED, LOCAL, inMainCheckout(LOCAL)];

const settingsIn = ({ files }: RepositorySettings) =>
  FILES.flatMap((name) => {
    const text = files.find((file) => file.name === name)?.text;
    return text === undefined ? [] : [parseSettings(text) ?? {}];
  });

/** Returns the deny and ask rules, which hold whether or not anybody trusts the rest. */
export function restrictions(settings: RepositorySettings, worktree: string): { deny: string[]; ask: string[] } {
  const rules = (key: 'deny' | 'ask') =>
    settingsIn(settings).flatMap(({ permissions }) => {
      const given = isObject(permissions) ? permissions[key] : undefined;
      return Array.isArray(given) ? given.filter((rule) => typeof rule === 'string') : [];
    });
  const placed = (key: 'deny' | 'ask') => [...new Set(rules(key).map((rule) => placedRule(rule, worktree)))];
  return { deny: placed('deny'), ask: placed('ask') };
}

/** Returns the preferences that switch nothing on. */
export function harmlessSettings(settings: RepositorySettings): Record<string, unknown> {
  const all = settingsIn(settings).flatMap((parsed) => Object.entries(parsed).filter(([key]) => HARMLESS.has(key)));
  return Object.fromEntries(all);
}

const FILE_TOOLS = /^(Read|Edit|Write|MultiEdit|NotebookEdit|NotebookRead|Glob|Grep|LS)\(\/(?!\/)/;

/**
 * Returns a rule for the command line: in a settings file `Read(/src/**)` is relative to the folder of that file, on the
 * command line it is not (tried).
 */
export const placedRule = (rule: string, worktree: string): string =>
  rule.replace(FILE_TOOLS, (_whole, tool: string) => `${tool}(/${worktree}/`);

/** Lists the commands, agents, skills and instructions that a session lacks without the repository's settings. */
export async function unavailable({ files, read }: RepositorySettings): Promise<string[]> {
  const named = files.flatMap(({ kind, name }) => {
    const path = name.replace(/ \(main checkout\)$/, '').replace(/^\.claude\/\w+\//, '');
    const short = path.replace(/\.md$/, '').replaceAll('/', ':');
    if (kind === 'commands') return [`/${short}`];
    if (kind === 'agents') return [`agent ${short}`];
    return kind === 'skills' ? [`skill ${path.replace(/\/SKILL\.md$/, '')}`] : [];
  });
  const hasInstructions = (await read('CLAUDE.md')) !== null || (await read('.claude/CLAUDE.md')) !== null;
  // With `--add-dir` Claude Code reads CLAUDE.md and .claude/rules, but not these (tried).
  const others = ['CLAUDE.local.md', ...(hasInstructions ? [] : ['AGENTS.md'])];
  const missing = await Promise.all(others.map(async (path) => ((await read(path)) === null ? [] : [path])));
  return [...named, ...missing.flat()];
}

const NAMES: Readonly<Record<TrustKind, readonly [one: string, several: string]>> = {
  hook: ['hook', 'hooks'],
  helper: ['helper', 'helpers'],
  env: ['environment variable', 'environment variables'],
  'mcp-server': ['MCP server', 'MCP servers'],
  plugin: ['plugin setting', 'plugin settings'],
  rule: ['allow rule', 'allow rules'],
  mode: ['mode', 'modes'],
  directory: ['folder', 'folders'],
  command: ['command', 'commands'],
  other: ['other setting', 'other settings'],
};

/** Returns a summary such as "2 hooks, 1 MCP server". */
export function summaryOf(items: readonly { kind: TrustKind }[]): string {
  const counts = new Map<TrustKind, number>();
  for (const { kind } of items) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${NAMES[kind][count === 1 ? 0 : 1]}`).join(', ');
}
