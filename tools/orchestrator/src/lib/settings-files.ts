/** The paths where Claude Code reads settings in a repository, relative to its folder, with `/`. */
export const SHARED = '.claude/settings.json';
export const LOCAL = '.claude/settings.local.json';
export const MCP = '.mcp.json';

/** Names, for people, a file of the main checkout, which applies to all worktrees. */
export const inMainCheckout = (path: string) => `${path} (main checkout)`;
