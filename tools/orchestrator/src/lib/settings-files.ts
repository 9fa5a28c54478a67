/** Where Claude Code reads settings in a repository, relative to its folder, with `/`. */
export const SHARED = '.claude/settings.json';
export const LOCAL = '.claude/settings.local.json';
export const MCP = '.mcp.json';

/** What a file of the main checkout, which holds in all worktrees, is called in what people read. */
export const inMainCheckout = (path: string) => `${path} (main checkout)`;
