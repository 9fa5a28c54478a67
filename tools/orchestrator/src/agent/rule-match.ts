import { pathMatch } from './path-match.ts';
import { type Match, RULE, ruleCovers, type ToolCall } from './rule-covers.ts';
import { splitCommand } from './shell-parts.ts';
import { webHost } from './web-host.ts';

/**
 * Whether a rule lets a call through, together with others that apply as well. `yes` only where it is certain (CLI 2.1.330, tried): a
 * part of a command that is neither the exact text of a rule nor begins like one leaves it unsure.
 */
export function ruleMatch(rule: string, call: ToolCall, others: readonly string[] = []): Match {
  const { toolName, input } = call;
  const { name, content } = partsOf(rule);
  if (coversAll(name, content) && (name === toolName || isServerOf(name, toolName))) return 'yes';
  if (toolName !== 'Bash') return ruleCovers(rule, call) ? otherMatch(name, content, call) : 'no';
  const command = typeof input.command === 'string' ? input.command : '';
  const split = splitCommand(command);
  if (split === null) return ruleCovers(rule, call) ? 'unsure' : 'no';
  const fits = (part: string) => fitsExactly(rule, part);
  if (!split.parts.some(fits)) return ruleCovers(rule, call) ? 'unsure' : 'no';
  const rest = split.parts.filter((part) => !fits(part));
  return rest.every((part) => others.some((other) => fitsExactly(other, part))) ? 'yes' : 'unsure';
}

/** Whether the rule surely allows one of the commands that a call is made of, or all of another call. */
export function hasPart(rule: string, call: ToolCall): boolean {
  if (ruleMatch(rule, call) === 'yes') return true;
  const split =
    call.toolName === 'Bash' && typeof call.input.command === 'string' ? splitCommand(call.input.command) : null;
  return split?.parts.some((part) => fitsExactly(rule, part)) ?? false;
}

function partsOf(rule: string): { name: string; content: string | undefined } {
  const [, name = '', content] = RULE.exec(rule.trim()) ?? [];
  return { name, content };
}

const coversAll = (name: string, content: string | undefined): boolean =>
  name !== '' && (content === undefined || content === '*');

/** A whole MCP server: `mcp__tracker` or `mcp__tracker__*`. */
function isServerOf(name: string, toolName: string): boolean {
  const server = /^(mcp__[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)(?:__\*)?$/.exec(name)?.[1];
  return server !== undefined && toolName.startsWith(`${server}__`);
}

/** The tools whose calls a rule about files covers: `Edit` stands for all that edit. */
const RULED_BY: Readonly<Record<string, string>> = {
  Edit: 'Edit',
  Write: 'Edit',
  MultiEdit: 'Edit',
  NotebookEdit: 'Edit',
  Read: 'Read',
};

/** Whether a rule for something else than a command lets a call through. */
function otherMatch(name: string, content: string | undefined, call: ToolCall): Match {
  const { toolName, input, folder = null } = call;
  if (toolName === 'WebFetch' && name === toolName && content !== undefined) return siteMatch(content, input.url);
  const ruledBy = RULED_BY[toolName];
  const path = input.file_path ?? input.notebook_path;
  if (ruledBy === undefined || typeof path !== 'string') return 'unsure';
  // `Write(src/**)` covers no file, and `Edit` alone only the tool of that name (2.1.330, tried).
  if (name !== ruledBy || content === undefined) return name in RULED_BY ? 'no' : 'unsure';
  return pathMatch(content, { path, folder, isEdit: ruledBy === 'Edit' });
}

/** A host is compared as a whole; `*.` before it stands for every host below it, and not for itself. */
function siteMatch(content: string, url: unknown): Match {
  const [, star, domain] = /^domain:(\*\.)?([a-z0-9.-]+)$/.exec(content) ?? [];
  const host = typeof url === 'string' ? webHost(url) : null;
  if (domain === undefined || host === null) return 'unsure';
  return (star === undefined ? host === domain : host.endsWith(`.${domain}`)) ? 'yes' : 'no';
}

/** Whether a simple command is the text of a rule, or begins with its words: `npm run *`, `npm run:*`. */
function fitsExactly(rule: string, part: string): boolean {
  const { name, content } = partsOf(rule);
  if (name !== 'Bash') return false;
  if (content === undefined || content === '*') return true;
  const prefix = /^([^*]+?)(?: \*|:\*)$/.exec(content)?.[1];
  if (prefix !== undefined) return part === prefix || part.startsWith(`${prefix} `);
  return !content.includes('*') && part === content;
}
