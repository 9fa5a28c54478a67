import type { BackgroundTask, McpServer, McpState, TaskOutput } from '@callboard/contract';
import { count, formatSize } from '../../../lib/format.ts';

/** The kind of a task, in words. */
export function taskKind({ type }: Pick<BackgroundTask, 'type'>): string {
  if (type === 'local_bash') return 'Command';
  return type === 'local_agent' ? 'Subagent' : type.replaceAll('_', ' ');
}

/** Claude Code stores the output of commands only; a subagent's output is in the transcript. */
export const hasOutput = ({ type }: Pick<BackgroundTask, 'type'>): boolean => type === 'local_bash';

/** How much of the output is shown; null if all of it is. */
export function outputText({ isCut, totalBytes }: TaskOutput): string | null {
  return isCut ? `The end of ${formatSize(totalBytes)}` : null;
}

const STATES: Record<McpState, string> = {
  connected: 'connected',
  pending: 'connecting',
  failed: 'failed',
  'needs-auth': 'needs a login',
  disabled: 'turned off',
  unknown: 'state not known',
};

export const mcpStateLabel = (state: McpState): string => STATES[state];

/** Problems come first. */
const ORDER: readonly McpState[] = ['failed', 'needs-auth', 'pending', 'unknown', 'connected', 'disabled'];

/** All servers in one line: "3 MCP servers: 1 failed, 2 connected". */
export function mcpSummary(servers: readonly Pick<McpServer, 'state'>[]): string {
  const states = ORDER.flatMap((state) => {
    const many = servers.filter((server) => server.state === state).length;
    return many === 0 ? [] : [servers.length === 1 ? STATES[state] : `${many} ${STATES[state]}`];
  });
  return `${count(servers.length, 'MCP server')}: ${states.join(', ')}`;
}

/** What a server offers, or why it offers nothing. */
export function mcpFacts({ state, tools, error }: Pick<McpServer, 'state' | 'tools' | 'error'>): string | null {
  if (state === 'connected') return tools === null ? null : count(tools, 'tool');
  if (state === 'needs-auth') return 'Run "claude" in a terminal and log in with /mcp, then reconnect.';
  if (state === 'disabled') return 'Turned off in Claude Code. Turn it on with /mcp in a terminal.';
  return error;
}

/** Whether a server can be reconnected: not while it connects, and not if a person turned it off. */
export const mayReconnect = ({ state }: Pick<McpServer, 'state'>): boolean =>
  state !== 'pending' && state !== 'disabled';
