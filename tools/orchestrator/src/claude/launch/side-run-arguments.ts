import { ownFilesDenied } from './arguments.ts';

export interface SideRunArguments {
  dataDir: string;
  /** The environment that Claude Code gets. */
  env: Readonly<Record<string, string>>;
  worktree: string;
  model: string | null;
  /** Rules of the repository's files that forbid reading. */
  deny: readonly string[];
  /** The JSON schema of the answer. */
  schema: object;
}

/** The flags without which Claude could change files or could not answer in a form; all are in the help of CLI 2.1.330. */
const NEEDED = ['--json-schema', '--tools', '--strict-mcp-config', '--no-session-persistence'] as const;

/** Returns the needed flags that the program does not know; `flags` is null if its help lists none, and then all are passed. */
export const missingForSideRuns = (flags: ReadonlySet<string> | null): string[] =>
  flags === null ? [] : NEEDED.filter((flag) => !flags.has(flag));

/**
 * The command line of one answer beside a conversation (tried with CLI 2.1.330). It has a conversation of its own, which is not kept,
 * and the tools that read: a call of another one is refused, and whatever would ask is denied, as nobody is there to ask. Hooks, MCP
 * servers and the repository's settings are left out; its CLAUDE.md is read.
 */
export const sideRunArguments = ({ dataDir, env, worktree, model, deny, schema }: SideRunArguments): string[] => [
  ...['-p', '--output-format=json', '--json-schema', JSON.stringify(schema), '--tools', 'Read,Grep,Glob'],
  ...['--permission-mode', 'default', '--strict-mcp-config', '--no-session-persistence', '--disable-slash-commands'],
  ...['--setting-sources', 'user', '--add-dir', worktree],
  ...(model === null ? [] : ['--model', model]),
  '--settings',
  JSON.stringify({ disableAllHooks: true, permissions: { deny: [...ownFilesDenied({ dataDir, env }), ...deny] } }),
];

/** Has Claude Code read the CLAUDE.md of the worktree although its settings are left out. */
export const SIDE_RUN_VARIABLES = { CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1' } as const;
