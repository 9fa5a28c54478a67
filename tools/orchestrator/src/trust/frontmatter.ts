import { parse as parseYaml, YAMLParseError } from 'yaml';
import { ASKING_MODES } from './known-keys.ts';
import { type Found, hookItems, isObject, jsonOf, type Source, serverItems } from './settings-items.ts';

/** Lists what the frontmatter of an agent, a command or a skill switches on. */

const FRONTMATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
/** Finds keys in text that is no valid YAML for us, but may be for Claude Code. */
const MENTIONS = /^["']?(hooks|mcpServers|permissionMode|allowed-tools)["']?\s*:/m;

export function frontmatterItems(file: Source): Found[] {
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
