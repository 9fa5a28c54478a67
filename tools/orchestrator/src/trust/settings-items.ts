import type { TrustItem } from '@callboard/contract';
import type { SettingsFile } from '../worktrees/repository-settings.ts';
import { ASKING_MODES, HARMLESS, HARMLESS_PERMISSIONS, HELPERS, PLUGINS } from './known-keys.ts';

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
export const jsonOf = (value: unknown): string =>
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
export function mcpItems(file: Source): Found[] {
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
export function hookItems(file: Source, hooks: unknown): Found[] {
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
export function serverItems(file: Source, servers: unknown): Found[] {
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
