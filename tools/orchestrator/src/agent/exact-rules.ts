import type { ToolCall } from './rule-covers.ts';
import { isExact, splitCommand } from './shell-parts.ts';
import { risksOf } from './stakes/stakes-of.ts';
import { webHost } from './web-host.ts';

/** Tools whose name alone is the exact rule: what they do is up to a server, and Claude Code compares nothing else. */
const isWhole = (toolName: string): boolean => toolName === 'WebSearch' || /^mcp__[\w-]+__[\w.-]+$/.test(toolName);
const HOST = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;

/**
 * The rules that match a tool call and as little else as possible: one for each part of a compound command that does more than
 * read. Null if there is no such rule, as for a command with a redirection, a substitution or a variable.
 */
export function exactRules({ toolName, input }: ToolCall): string[] | null {
  if (toolName === 'Bash') return exactCommands(input.command);
  if (isWhole(toolName)) return [toolName];
  if (toolName !== 'WebFetch' || typeof input.url !== 'string') return null;
  const host = webHost(input.url);
  return host !== null && HOST.test(host) ? [`WebFetch(domain:${host})`] : null;
}

function exactCommands(command: unknown): string[] | null {
  const split = typeof command === 'string' ? splitCommand(command) : null;
  if (split === null || split.isRedirected || !split.parts.every(isExact)) return null;
  const acting = split.parts.filter((part) => split.parts.length === 1 || !onlyReads(part));
  return acting.length === 0 ? null : [...new Set(acting)].map((part) => `Bash(${part})`);
}

const onlyReads = (command: string): boolean =>
  risksOf({ kind: 'approval', toolName: 'Bash', input: { command }, blockedPath: null }, null).length === 0;
