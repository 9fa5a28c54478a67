import type { BackgroundTask, McpServer, McpState, TaskOutput } from '@callboard/contract';
import { count } from '../../../lib/format.ts';

/** What kind of task it is, for people. */
export function taskKind({ type }: Pick<BackgroundTask, 'type'>): string {
  if (type === 'local_bash') return 'Command';
  return type === 'local_agent' ? 'Subagent' : type.replaceAll('_', ' ');
}

/** Claude Code keeps the output of commands alone; what a subagent says stands in the transcript. */
export const hasOutput = ({ type }: Pick<BackgroundTask, 'type'>): boolean => type === 'local_bash';

/** How much of the output is shown, where that is not all. */
export function outputWords({ isCut, totalBytes }: TaskOutput): string | null {
  return isCut ? `The end of ${Math.ceil(totalBytes / 1024).toLocaleString('en')} KiB` : null;
}

const STATES: Record<McpState, string> = {
  connected: 'connected',
  pending: 'connecting',
  failed: 'failed',
  'needs-auth': 'needs a login',
  disabled: 'turned off',
  unknown: 'state not known',
};

export const mcpStateWords = (state: McpState): string => STATES[state];

/** What is wrong comes first. */
const ORDER: readonly McpState[] = ['failed', 'needs-auth', 'pending', 'unknown', 'connected', 'disabled'];

/** All servers in a line: "3 MCP servers: 1 failed, 2 connected". */
export function mcpSummary(servers: readonly Pick<McpServer, 'state'>[]): string {
  const states = ORDER.flatMap((state) => {
    const many = servers.filter((server) => server.state === state).length;
    return many === 0 ? [] : [servers.length === 1 ? STATES[state] : `${many} ${STATES[state]}`];
  });
  return `${count(servers.length, 'MCP server')}: ${states.join(', ')}`;
}

/** What a server has to say beside its state: its tools, or why there are none. */
export function mcpFacts({ state, tools, error }: Pick<McpServer, 'state' | 'tools' | 'error'>): string | null {
  if (state === 'connected') return tools === null ? null : count(tools, 'tool');
  if (state === 'needs-auth') return 'Run "claude" in a terminal and log in with /mcp, then reconnect.';
  if (state === 'disabled') return 'Turned off in Claude Code. Turn it on with /mcp in a terminal.';
  return error;
}

/** A server that connects now, or that a person turned off, is left alone. */
export const mayReconnect = ({ state }: Pick<McpServer, 'state'>): boolean =>
  state !== 'pending' && state !== 'disabled';
