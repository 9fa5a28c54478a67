import { join } from 'node:path';
import { ASK_TO_LEAVE, type LaunchSandbox, sandboxSettings } from '../sandbox/sandbox-settings.ts';

export interface LaunchArguments {
  dataDir: string;
  permissionMode: string;
  model: string | null;
  effort: string | null;
  /** Permission rules that hold from the start, and folders outside of the worktree that may be read. */
  allow: readonly string[];
  directories: readonly string[];
  /** Hosts that commands in the sandbox reach without a question. */
  hosts: readonly string[];
  /** How commands are run in the CLI's sandbox; null: outside. */
  sandbox: LaunchSandbox | null;
  /** Rules that go before those of any file: what is to be asked for, and what is denied. */
  ask: readonly string[];
  deny: readonly string[];
  /**
   * Leaves the settings files, hooks and MCP servers of the repository out, and its commands, agents and skills with them; its
   * CLAUDE.md is read all the same (tried). Null: everything counts.
   */
  userSettingsOnly: { worktree: string; preferences: Readonly<Record<string, unknown>> } | null;
  /** Messages of other sessions reach this one; otherwise they are refused, whatever the user's settings say. */
  sessionMessages: boolean;
  /** The options that the program's help lists; null where that is not known, and then it is given all. */
  flags: ReadonlySet<string> | null;
  /** A conversation to go on with, or the id that a new one is to have. */
  conversation: { resume: string } | { start: string };
}

/** Options that a session can do without, and in short words what is missing where the program does not know them. */
const OPTIONAL = {
  '--forward-subagent-text': 'subagent text is not shown', // one that its parent waits for shows its tool calls alone
  '--include-partial-messages': 'text does not stream',
  '--effort': 'the effort cannot be chosen at start',
} as const;

const knows = (flags: LaunchArguments['flags'], flag: keyof typeof OPTIONAL) => flags === null || flags.has(flag);

/** What a session with this program does without, in short words. */
export const missingFlags = (flags: LaunchArguments['flags']): string[] =>
  Object.entries(OPTIONAL).flatMap(([flag, lack]) => (flags === null || flags.has(flag) ? [] : [lack]));

/** The command line of a launch (CLI 2.1.330; `--permission-prompt-tool` is in no help, so what is needed is always given). */
export function claudeArguments(launch: LaunchArguments): string[] {
  const { permissionMode, model, effort, conversation, flags, userSettingsOnly } = launch;
  const optional = (['--include-partial-messages', '--forward-subagent-text'] as const).filter((flag) =>
    knows(flags, flag),
  );
  return [
    '-p',
    '--input-format=stream-json',
    '--output-format=stream-json',
    '--permission-prompt-tool=stdio',
    '--verbose',
    ...optional,
    '--replay-user-messages', // its echo of the answer that counted is our confirmation
    ...('resume' in conversation ? ['--resume', conversation.resume] : ['--session-id', conversation.start]),
    '--permission-mode',
    permissionMode,
    ...(model === null ? [] : ['--model', model]),
    ...(effort === null || !knows(flags, '--effort') ? [] : ['--effort', effort]),
    ...(userSettingsOnly === null ? [] : ['--setting-sources', 'user', '--add-dir', userSettingsOnly.worktree]),
    '--settings',
    JSON.stringify(settings(launch)),
  ];
}

/** What a launch needs in its environment beside what all get. */
export const claudeVariables = ({
  userSettingsOnly,
  sandbox,
}: Pick<LaunchArguments, 'userSettingsOnly' | 'sandbox'>): Record<string, string> => ({
  ...(userSettingsOnly !== null && { CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1' }),
  ...sandbox?.variables,
});

function settings(launch: LaunchArguments): object {
  const { dataDir, allow, directories, hosts, deny, sandbox, userSettingsOnly, sessionMessages } = launch;
  const ask = sandbox === null ? launch.ask : [ASK_TO_LEAVE, ...launch.ask];
  const own = ['sessions/**', 'store*', 'backup/**', 'run/**', 'trash/**'].map((path) => `/${join(dataDir, path)}`);
  return {
    ...userSettingsOnly?.preferences,
    // Otherwise the CLI's own classifier decides about Bash in plan mode, and where it cannot run everything is denied.
    useAutoModeDuringPlan: false,
    // Without it any process of the account can speak to the session, and goes before the user's own setting (tried).
    crossSessionInbound: sessionMessages ? 'accept' : 'refuse',
    // The CLI adds them to those of other settings; without a sandbox they mean nothing.
    ...(sandbox === null && hosts.length > 0 && { sandbox: { network: { allowedDomains: hosts } } }),
    ...(sandbox !== null && { sandbox: sandboxSettings(sandbox, hosts) }),
    // Callboard's own files are none of the agent's business.
    permissions: {
      deny: [...own.flatMap((path) => [`Read(${path})`, `Edit(${path})`]), ...deny],
      ...(ask.length > 0 && { ask }),
      allow,
      additionalDirectories: directories,
    },
  };
}

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
