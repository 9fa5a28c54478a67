import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TrustItem } from '@callboard/contract';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { configFolder } from '../../core/claude/launch-options.ts';
import type { RepositorySettings, SettingsFile } from '../../core/worktrees/repository-files.ts';

/** Lists what settings files switch on: pure functions of their texts. The texts of items are part of stored hashes and must not change. */

/** One item, and its commands, which may name other files of the repository. */
export interface Found extends Omit<TrustItem, 'isNew'> {
  commands: readonly string[];
}

export type Source = Pick<SettingsFile, 'kind' | 'name' | 'text'>;
type Json = Readonly<Record<string, unknown>>;

/** Parses a settings file; undefined if it is invalid. Claude Code accepts a byte order mark, but no comments (tried). */
export function parseSettings(text: string): Json | undefined {
  try {
    const parsed: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns JSON with sorted keys, so that equal values give equal text. */
const jsonOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : (JSON.stringify(value, (_key, inner: unknown) =>
        isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
      ) ?? '');

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);

/** Lists the items of `.claude/settings.json` and similar files. */
export function settingsItems(file: Source): Found[] {
  if (file.text === '') return []; // the sandbox puts an empty file in the place of a missing one
  const settings = parseSettings(file.text);
  if (settings === undefined) return [notUnderstood(file)];
  return Object.entries(settings).flatMap(([key, value]) => keyItems(file, key, value));
}

/** Lists the items of `.mcp.json`: its servers start without a question and without an entry in the settings (tried). */
function mcpItems(file: Source): Found[] {
  if (file.text === '') return [];
  const parsed = parseSettings(file.text);
  if (parsed === undefined) return [notUnderstood(file)];
  return serverItems(file, parsed.mcpServers);
}

const notUnderstood = (file: Source): Found =>
  found(file, 'other', 'The file could not be understood, and may switch something on.', file.text);

const found = ({ name }: Source, kind: Found['kind'], text: string, value: unknown): Found => ({
  kind,
  text,
  value: jsonOf(value),
  file: name,
  commands: [],
});

function keyItems(file: Source, key: string, value: unknown): Found[] {
  if (HARMLESS.has(key) || key.startsWith('$') || value === null) return [];
  const helper = Object.hasOwn(HELPERS, key) ? HELPERS[key] : undefined;
  if (helper !== undefined)
    return [{ ...found(file, 'helper', `${key} ${helper}.`, commandOf(value)), commands: [commandOf(value)] }];
  if (PLUGINS.has(key)) return pluginItems(file, key, value);
  switch (key) {
    case 'hooks':
      return hookItems(file, value);
    case 'env':
      return envItems(file, value);
    case 'permissions':
      return permissionItems(file, value);
    case 'enableAllProjectMcpServers':
      return value === false ? [] : [found(file, 'mcp-server', 'Starts every MCP server of .mcp.json.', `${key}`)];
    case 'enabledMcpjsonServers':
      return list(value).map((name) => found(file, 'mcp-server', 'Starts this MCP server of .mcp.json.', name));
    case 'disableAllHooks':
      return value === false ? [] : [found(file, 'other', 'Switches off all hooks, your own as well.', key)];
    default:
      return [found(file, 'other', `Sets ${key}.`, { [key]: value })];
  }
}

const commandOf = (value: unknown): string =>
  isObject(value) && typeof value.command === 'string' ? value.command : jsonOf(value);

/** Lists hooks by event, each in groups with a matcher. A value of another shape is listed whole: Claude Code may accept it. */
function hookItems(file: Source, hooks: unknown): Found[] {
  if (hooks === undefined || hooks === null) return [];
  if (!isObject(hooks)) return [found(file, 'hook', 'Hooks that could not be understood.', hooks)];
  return Object.entries(hooks).flatMap(([event, groups]) =>
    list(groups).flatMap((group) => {
      const inner = isObject(group) && Array.isArray(group.hooks) ? group.hooks : null;
      if (inner === null) return [found(file, 'hook', `${whenOf(event)} It could not be understood.`, group)];
      const matcher = isObject(group) && typeof group.matcher === 'string' ? group.matcher : '';
      return inner.map((hook) => {
        const command = commandOf(hook);
        return { ...found(file, 'hook', `${whenOf(event, matcher)}${mayAllow(event)}`, command), commands: [command] };
      });
    }),
  );
}

const WHEN: Readonly<Record<string, string>> = {
  PreToolUse: 'Runs before a tool is used',
  PostToolUse: 'Runs after a tool was used',
  PermissionRequest: 'Runs when a tool needs permission',
  UserPromptSubmit: 'Runs with each message',
  SessionStart: 'Runs when a session starts',
  SessionEnd: 'Runs when a session ends',
  Stop: 'Runs at the end of each turn',
};

function whenOf(event: string, matcher = ''): string {
  const when = Object.hasOwn(WHEN, event) ? WHEN[event] : `Runs on ${event}`;
  return matcher === '' || matcher === '*' ? `${when}.` : `${when} (${matcher}).`;
}

const mayAllow = (event: string) =>
  event === 'PreToolUse' || event === 'PermissionRequest' ? ' It can allow tools without asking you.' : '';

function envItems(file: Source, env: unknown): Found[] {
  if (!isObject(env)) return [found(file, 'env', 'Sets environment variables.', env)];
  return Object.entries(env).map(([name, value]) =>
    found(file, 'env', `Sets ${name} for Claude Code and all it runs.`, `${name}=${jsonOf(value)}`),
  );
}

/** Lists MCP servers by name, as in `.mcp.json` and agents. */
function serverItems(file: Source, servers: unknown): Found[] {
  if (servers === undefined || servers === null) return [];
  if (!isObject(servers)) return [found(file, 'mcp-server', 'MCP servers that could not be understood.', servers)];
  return Object.entries(servers).map(([name, server]) => {
    const runs = isObject(server) && typeof server.command === 'string';
    const message = runs ? [server.command, ...list(server.args)].map(jsonOf).join(' ') : jsonOf(server);
    const rest = isObject(server)
      ? Object.keys(server).filter((key) => !['command', 'args', 'type'].includes(key))
      : [];
    const more = runs && rest.length > 0 ? ` ${jsonOf(Object.fromEntries(rest.map((key) => [key, server[key]])))}` : '';
    const text = runs ? `Starts the MCP server “${name}”.` : `Connects to the MCP server “${name}”.`;
    return { ...found(file, 'mcp-server', text, `${message}${more}`), commands: runs ? [message] : [] };
  });
}

function pluginItems(file: Source, key: string, value: unknown): Found[] {
  if (!isObject(value)) return [found(file, 'plugin', `Sets ${key}.`, value)];
  return Object.entries(value)
    .filter(([, on]) => key !== 'enabledPlugins' || on !== false)
    .map(([name, given]) =>
      key === 'enabledPlugins'
        ? found(file, 'plugin', 'Switches a plugin on.', given === true ? name : { [name]: given })
        : found(file, 'plugin', `Sets ${key}.`, { [name]: given }),
    );
}

function permissionItems(file: Source, permissions: unknown): Found[] {
  if (!isObject(permissions)) return [found(file, 'rule', 'Permissions that could not be understood.', permissions)];
  return Object.entries(permissions).flatMap(([key, value]) => {
    if (HARMLESS_PERMISSIONS.has(key)) return [];
    if (key === 'allow') return list(value).map((rule) => found(file, 'rule', ALLOWED, rule));
    if (key === 'additionalDirectories')
      return list(value).map((folder) =>
        found(file, 'directory', 'A folder outside the repository that Claude may use.', folder),
      );
    if (key === 'defaultMode')
      return ASKING_MODES.has(value) ? [] : [found(file, 'mode', 'Sessions start in this mode.', value)];
    return [found(file, 'other', `Sets permissions.${key}.`, { [key]: value })];
  });
}

/** The text of an allow rule. */
export const ALLOWED = 'Allowed without asking.';

/** Returns the commands that a settings file lets run outside the sandbox; no other setting overrides Callboard's (tried). */
export function excludedCommands(text: string): string[] {
  const settings = parseSettings(text);
  const sandbox = isObject(settings?.sandbox) ? settings.sandbox : {};
  const { excludedCommands: commands } = sandbox;
  return Array.isArray(commands) ? commands.filter((command) => typeof command === 'string') : [];
}

/**
 * Keys of Claude Code's settings (2.1.330), by their effect. A key that is not listed needs trust.
 */

/** Commands that Claude Code runs on its own, and why. */
const HELPERS: Readonly<Record<string, string>> = {
  apiKeyHelper: 'is run to get the API key',
  proxyAuthHelper: 'is run to log in at a proxy',
  awsAuthRefresh: 'is run to log in at AWS',
  awsCredentialExport: 'is run to get credentials for AWS',
  gcpAuthRefresh: 'is run to log in at Google Cloud',
  otelHeadersHelper: 'is run to send telemetry',
  statusLine: 'is run to draw a status line',
  subagentStatusLine: 'is run to draw a status line',
  fileSuggestion: 'is run to suggest files',
  processWrapper: 'is put before programs that Claude Code starts',
  policyHelper: 'is run to make settings',
  policyHelpers: 'is run to make settings',
  sshHostCommands: 'is run to find a host',
};

const PLUGINS: ReadonlySet<string> = new Set([
  'enabledPlugins',
  'prependPlugins',
  'appendPlugins',
  'extraKnownMarketplaces',
  'additionalMarketplaces',
  'pluginConfigs',
]);

/** Keys that run nothing, allow nothing and override nothing of the user's. They are given without trust, too. */
export const HARMLESS: ReadonlySet<string> = new Set([
  'alwaysThinkingEnabled',
  'attribution',
  'autoUpdatesChannel',
  'awaySummaryEnabled',
  'breakReminder',
  'claudeMdExcludes',
  'companyAnnouncements',
  'deniedMcpServers',
  'disabledMcpjsonServers',
  'effortLevel',
  'emojiCompletionEnabled',
  'feedbackSurveyRate',
  'includeCoAuthoredBy',
  'includeGitInstructions',
  'language',
  'maxProseWidth',
  'model',
  'outputStyle',
  'prUrlTemplate',
  'prefersReducedMotion',
  'promptSuggestionEnabled',
  'quietHours',
  'respectGitignore',
  'showThinkingSummaries',
  'skillOverrides',
  'spellcheck',
  'spinnerTipsEnabled',
  'spinnerTipsOverride',
  'spinnerVerbs',
  'syntaxHighlightingDisabled',
  'terminalTitleFromRename',
  'theme',
  'timeFormat',
  'timeZone',
  'tui',
  'viewMode',
]);

/** Keys under `permissions` that only restrict. */
const HARMLESS_PERMISSIONS: ReadonlySet<string> = new Set([
  'deny',
  'ask',
  'disableAutoMode',
  'disableBypassPermissionsMode',
]);

/** Modes that ask for no fewer calls than the default mode. */
const ASKING_MODES: ReadonlySet<unknown> = new Set(['default', 'manual', 'plan']);

/** What settings files switch on, each item with its fingerprint. */
export interface TrustContent {
  /** The repository's items, which are trusted as a whole. */
  items: FingerprintedItem[];
  /** Items that the person allowed in a terminal; each is agreed to separately. */
  personal: FingerprintedItem[];
  /** The hash of the repository's items; empty without any. */
  hash: string;
}

export interface FingerprintedItem extends Found {
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
const hashOf = (items: readonly Pick<FingerprintedItem, 'fingerprint'>[]): string =>
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

/** Lists what the frontmatter of an agent, a command or a skill switches on. */

const FRONTMATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
/** Finds keys in text that is no valid YAML for us, but may be for Claude Code. */
const MENTIONS = /^["']?(hooks|mcpServers|permissionMode|allowed-tools)["']?\s*:/m;

function frontmatterItems(file: Source): Found[] {
  const text = FRONTMATTER.exec(file.text)?.[1];
  if (text === undefined) return [];
  const parsed = fromYaml(text);
  if (!isObject(parsed)) return MENTIONS.test(text) ? [unreadable(file, text)] : [];
  return [
    ...hookItems(file, parsed.hooks),
    ...serverItems(file, serversOf(parsed.mcpServers)),
    ...modeItems(file, parsed.permissionMode),
    // In an agent, `tools` only restricts; in commands and skills, `allowed-tools` are allowed while they run (tried).
    ...(file.kind === 'agents' ? [] : toolItems(file, parsed['allowed-tools'])),
  ];
}

const unreadable = (file: Source, text: string): Found => ({
  kind: 'other',
  text: 'Its first lines could not be understood, and may switch something on.',
  value: text,
  file: file.name,
  commands: [],
});

function modeItems(file: Source, mode: unknown): Found[] {
  if (mode === undefined || mode === null || ASKING_MODES.has(mode)) return [];
  const value = typeof mode === 'string' ? mode : jsonOf(mode);
  return [{ kind: 'mode', text: 'This agent works in a mode that asks less.', value, file: file.name, commands: [] }];
}

function toolItems(file: Source, tools: unknown): Found[] {
  if (tools === undefined || tools === null || tools === '') return [];
  const value = typeof tools === 'string' ? tools : Array.isArray(tools) ? tools.map(String).join(', ') : jsonOf(tools);
  const what = file.kind === 'skills' ? 'this skill' : 'this command';
  return [
    { kind: 'rule', text: `Allowed without asking while ${what} is at work.`, value, file: file.name, commands: [] },
  ];
}

/** Merges a list of names and servers: the names alone switch nothing on. */
function serversOf(servers: unknown): unknown {
  if (!Array.isArray(servers)) return servers;
  return Object.assign({}, ...servers.filter(isObject)) as unknown;
}

function fromYaml(text: string): unknown {
  try {
    // Aliases can expand a few lines without end.
    return parseYaml(text, { maxAliasCount: 50 });
  } catch (error) {
    if (error instanceof YAMLParseError || error instanceof ReferenceError) return undefined;
    throw error;
  }
}

/** The name of the user's own settings file for people. */
const USER_FILE = '~/.claude/settings.json';

/** Returns the path of the user's settings file. @param env the environment that Claude Code gets */
export const userSettingsPath = (env: Readonly<Record<string, string>>): string =>
  join(configFolder(env), 'settings.json');

/** Returns the text of the user's settings file; `{}` if there is none. */
export const userSettings = (env: Readonly<Record<string, string>>): Promise<string> =>
  readFile(userSettingsPath(env), 'utf8').catch(() => '{}');

/** Lists everything that the user's own settings switch on. */
export async function userItems(env: Readonly<Record<string, string>>): Promise<Found[]> {
  return settingsItems({ kind: 'settings', name: USER_FILE, text: await userSettings(env) });
}

/** Lists what the user's own settings allow without asking. */
export const userRules = async (env: Readonly<Record<string, string>>): Promise<Found[]> =>
  (await userItems(env)).filter(({ kind, text }) => kind === 'directory' || (kind === 'rule' && text === ALLOWED));
