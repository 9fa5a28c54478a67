import { RULE, ruleCovers, type ToolCall } from './rule-covers.ts';
import { splitCommand } from './shell-parts.ts';
import { webHost } from './web-host.ts';

/** Whether rules let a call through: `unsure` where only Claude Code could tell. */
export type Match = 'yes' | 'no' | 'unsure';

/**
 * Whether a rule lets a call through, together with others that apply as well. `yes` only where it is certain (CLI 2.1.330, tried): a
 * part of a command that is neither the exact text of a rule nor begins like one leaves it unsure.
 */
export function ruleMatch(rule: string, call: ToolCall, others: readonly string[] = []): Match {
  const { toolName, input } = call;
  const { name, content } = partsOf(rule);
  const isSure = coversAll(name, content) ? name === toolName || isServerOf(name, toolName) : covers(rule, call);
  if (isSure) return 'yes';
  if (toolName !== 'Bash') return ruleCovers(rule, call) ? looseMatch(name, content, call) : 'no';
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

/** A domain, which is compared as a whole. */
function covers(rule: string, { toolName, input }: ToolCall): boolean {
  const domain = /^WebFetch\(domain:([a-z0-9.-]+)\)$/.exec(rule.trim())?.[1];
  return (
    toolName === 'WebFetch' && domain !== undefined && typeof input.url === 'string' && webHost(input.url) === domain
  );
}

/** For a path only its kind of tool is known to fit; another domain surely does not. */
function looseMatch(name: string, content: string | undefined, { toolName }: ToolCall): Match {
  const isOtherDomain = name === toolName && toolName === 'WebFetch' && /^domain:[a-z0-9.-]+$/.test(content ?? '');
  return isOtherDomain ? 'no' : 'unsure';
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
