import { McpState } from '@callboard/contract';

/** A state of an MCP server as the CLI names it. */
export const mcpState = (status: string): McpState => McpState.safeParse(status).data ?? 'unknown';
