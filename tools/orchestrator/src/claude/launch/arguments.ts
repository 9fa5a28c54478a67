import { join } from 'node:path';
import { terminalLoginFolders } from '@callboard/runtime/terminal-login';
import { ASK_TO_LEAVE, type LaunchSandbox, sandboxSettings } from '../sandbox/sandbox-settings.ts';

export interface LaunchArguments {
  dataDir: string;
  /** The environment that Claude Code gets. */
  env: Readonly<Record<string, string>>;
  permissionMode: string;
  model: string | null;
  effort: string | null;
  /** Permission rules that apply from the start, and folders outside of the worktree that may be read. */
  allow: readonly string[];
  directories: readonly string[];
  /** Hosts that commands in the sandbox may reach without approval. */
  hosts: readonly string[];
  /** How the CLI's sandbox runs commands; null to run them without a sandbox. */
  sandbox: LaunchSandbox | null;
  /** Rules that take precedence over those of any file: what must be asked for, and what is denied. */
  ask: readonly string[];
  deny: readonly string[];
  /**
   * Ignores the repository's settings files, hooks, MCP servers, commands, agents and skills; its CLAUDE.md is still read
   * (tried). Null: everything applies.
   */
  userSettingsOnly: { worktree: string; preferences: Readonly<Record<string, unknown>> } | null;
  /** Accepts messages of other sessions; otherwise they are refused, whatever the user's settings say. */
  sessionMessages: boolean;
  /** The flags that the program's help lists; null if unknown, in which case all are passed. */
  flags: ReadonlySet<string> | null;
  conversation: LaunchConversation;
}

/** The conversation to resume, the id for a new one, or one to go on from under an id of its own. */
export type LaunchConversation = { resume: string } | { start: string } | (ConversationFork & { start: string });

/** A conversation that another one begins as a copy of. Claude Code never writes into it again for that. */
export interface ConversationFork {
  fork: string;
  /** The uuid of the last line that the copy has; null: all of it, as it is at the launch. */
  until: string | null;
}

/** Flags that a session can do without, and what is missing where the program does not know them, in short words. */
const OPTIONAL = {
  '--forward-subagent-text': 'subagent text is not shown', // a subagent that its parent waits for shows only its tool calls
  '--include-partial-messages': 'text does not stream',
  '--include-hook-events': 'a call that a hook changed is shown as Claude wrote it',
  '--effort': 'the effort cannot be chosen at start',
} as const;

const knows = (flags: LaunchArguments['flags'], flag: keyof typeof OPTIONAL) => flags === null || flags.has(flag);

/** What is missing in sessions with this program, in short words. */
export const missingFlags = (flags: LaunchArguments['flags']): string[] =>
  Object.entries(OPTIONAL).flatMap(([flag, lack]) => (flags === null || flags.has(flag) ? [] : [lack]));

/** The command line of a launch (CLI 2.1.330). Required flags are always passed: `--permission-prompt-tool` is in no help. */
export function claudeArguments(launch: LaunchArguments): string[] {
  const { permissionMode, model, effort, conversation, flags, userSettingsOnly } = launch;
  const optional = (['--include-partial-messages', '--forward-subagent-text', '--include-hook-events'] as const).filter(
    (flag) => knows(flags, flag),
  );
  return [
    '-p',
    '--input-format=stream-json',
    '--output-format=stream-json',
    '--permission-prompt-tool=stdio',
    '--verbose',
    ...optional,
    '--replay-user-messages', // the echo of the answer that took effect is our confirmation
    ...conversationArguments(conversation),
    '--permission-mode',
    permissionMode,
    ...(model === null ? [] : ['--model', model]),
    ...(effort === null || !knows(flags, '--effort') ? [] : ['--effort', effort]),
    ...(userSettingsOnly === null ? [] : ['--setting-sources', 'user', '--add-dir', userSettingsOnly.worktree]),
    '--settings',
    JSON.stringify(settings(launch)),
  ];
}

function conversationArguments(conversation: LaunchConversation): string[] {
  if ('resume' in conversation) return ['--resume', conversation.resume];
  const start = ['--session-id', conversation.start];
  if (!('fork' in conversation)) return start;
  const until = conversation.until === null ? [] : ['--resume-session-at', conversation.until];
  return ['--resume', conversation.fork, '--fork-session', ...until, ...start];
}

/** The environment variables that a launch needs in addition to those of every launch. */
export const claudeVariables = ({
  userSettingsOnly,
  sandbox,
}: Pick<LaunchArguments, 'userSettingsOnly' | 'sandbox'>): Record<string, string> => ({
  ...(userSettingsOnly !== null && { CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1' }),
  ...sandbox?.variables,
});

function settings(launch: LaunchArguments): object {
  const { allow, directories, hosts, deny, sandbox, userSettingsOnly, sessionMessages } = launch;
  const ask = sandbox === null ? launch.ask : [ASK_TO_LEAVE, ...launch.ask];
  return {
    ...userSettingsOnly?.preferences,
    // Otherwise the CLI's own classifier decides about Bash in plan mode, and denies everything where it cannot run.
    useAutoModeDuringPlan: false,
    // Callboard itself goes on when a usage limit resets; twice would be once too often.
    autoContinueAtUsageLimit: false,
    // Otherwise any process of the account can send messages to the session. Takes precedence over the user's setting (tried).
    crossSessionInbound: sessionMessages ? 'accept' : 'refuse',
    // The CLI merges them with the hosts of other settings; without a sandbox they have no effect.
    ...(sandbox === null && hosts.length > 0 && { sandbox: { network: { allowedDomains: hosts } } }),
    ...(sandbox !== null && { sandbox: sandboxSettings(sandbox, hosts) }),
    permissions: {
      deny: [...ownFilesDenied(launch), ...deny],
      ...(ask.length > 0 && { ask }),
      allow,
      additionalDirectories: directories,
    },
  };
}

/** Returns the rules that keep Claude off Callboard's own files. @param env the environment that Claude Code gets */
export const ownFilesDenied = ({ dataDir, env }: Pick<LaunchArguments, 'dataDir' | 'env'>): string[] =>
  [
    ...['sessions/**', 'store*', 'backup/**', 'run/**', 'trash/**', 'database-url*', 'machine.json'].map((path) =>
      join(dataDir, path),
    ),
    ...terminalLoginFolders(env, env.HOME ?? '/').map((folder) => join(folder, '**')),
  ]
    .map((path) => `/${path}`)
    .flatMap((path) => [`Read(${path})`, `Edit(${path})`]);

interface Account {
  /** As returned by `process.getuid`; undefined where that does not exist. */
  uid: number | undefined;
  /** The environment that the CLI would get. */
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * Why the CLI would refuse to start in this mode, in its own words; null when no reason is known. It does not let root skip
 * permissions unless its environment says that it runs in a sandbox (2.1.330).
 */
export function refusedMode(mode: string, { uid, env }: Account): string | null {
  const isInSandbox = env.IS_SANDBOX === '1' || Boolean(env.CLAUDE_CODE_BUBBLEWRAP);
  return mode === 'bypassPermissions' && uid === 0 && !isInSandbox
    ? 'bypassPermissions cannot be used with root/sudo privileges for security reasons'
    : null;
}
