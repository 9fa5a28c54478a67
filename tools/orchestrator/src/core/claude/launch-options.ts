import { mkdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { terminalLoginFolders } from '@callboard/runtime/terminal-login';
import { z } from 'zod';
import { pathExists } from '../../platform/files.ts';

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

/** What the sandbox of a launch allows and denies. All paths are absolute, and exist. */
export interface LaunchSandbox {
  /** Commands inside run without approval. */
  autoAllow: boolean;
  /** Unix sockets that commands may connect to. */
  sockets: readonly string[];
  /** Neither readable nor writable, except for `readable`. */
  hidden: readonly string[];
  readable: readonly string[];
  /** Writable, in addition to the worktree and what a commit needs. */
  writable: readonly string[];
  /** Never writable, whatever other settings say. */
  kept: readonly string[];
  /** For the environment of Claude Code. */
  variables: Readonly<Record<string, string>>;
}

/**
 * Makes every call that leaves the sandbox ask for approval: without it, a rule such as `Bash(npm *)` lets the call run
 * (tried). It takes precedence over allow rules, including those of the session, and over hooks, and applies in every mode.
 */
const ASK_TO_LEAVE = 'Bash(dangerouslyDisableSandbox:true)';

/** Every port of this machine, Callboard's included. The CLI itself refuses a name that resolves to one of these (tried). */
const LOOPBACK = ['localhost', '*.localhost', '127.0.0.1', '0.0.0.0', '[::1]'];

/**
 * The `sandbox` part of a launch's settings (names as in CLI 2.1.330). Lists are merged with those of other settings, and
 * denials win over permissions. These settings take precedence over the user's and the repository's.
 */
const sandboxSettings = (sandbox: LaunchSandbox, hosts: readonly string[]): object => ({
  enabled: true,
  // Otherwise, when no sandbox is available, the CLI runs everything outside and only prints a line to stderr.
  failIfUnavailable: true,
  autoAllowBashIfSandboxed: sandbox.autoAllow,
  // These would open the sandbox if set in the user's settings, or in a file written during the session.
  enableWeakerNestedSandbox: false,
  allowNestedUserNamespaces: false,
  network: {
    allowedDomains: hosts,
    deniedDomains: LOOPBACK,
    allowUnixSockets: sandbox.sockets,
    // Linux cannot tell sockets apart: it is all or none.
    allowAllUnixSockets: process.platform === 'linux' && sandbox.sockets.length > 0,
  },
  filesystem: {
    disabled: false,
    denyRead: sandbox.hidden,
    allowRead: sandbox.readable,
    allowWrite: sandbox.writable,
    denyWrite: sandbox.kept,
  },
});

export interface SandboxPaths {
  dataDir: string;
  /** The main checkout. */
  checkout: string;
  /** The environment that Claude Code gets. */
  env: Readonly<Record<string, string>>;
}

/**
 * The paths on this machine that a sandbox restricts. Only existing ones: in place of a missing file the CLI puts a device,
 * and git then cannot read its own configuration (tried).
 */
export async function sandboxPaths({ dataDir, checkout, env }: SandboxPaths) {
  const home = env.HOME ?? '/';
  const config = configFolder(env);
  return {
    hidden: [...(await existing([dataDir, join(config, '.credentials.json')])), ...(await loginFolders(env))],
    readable: await existing([join(dataDir, 'worktrees')]),
    // The rest of the main checkout is not writable either, unless the user's own settings allow it. Denying it as a whole would
    // deny its `.git`, where the CLI itself leaves writable what a commit needs (tried).
    kept: await existing([
      ...['.claude', '.mcp.json'].map((name) => join(checkout, name)),
      config,
      ...['.claude.json', '.gitconfig', '.config/git'].map((name) => join(home, name)),
    ]),
  };
}

/**
 * Returns the folders of terminal logins. Creates them, since only an existing folder can be hidden, and a person may log a terminal in
 * while the session runs.
 */
export async function loginFolders(env: Readonly<Record<string, string>>): Promise<string[]> {
  if (env.HOME === undefined) return [];
  const found: string[] = [];
  for (const folder of terminalLoginFolders(env, env.HOME)) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      found.push(await realpath(folder));
    } catch {} // nobody can log in there either
  }
  return found;
}

/**
 * The files in the main checkout's `.git` that hold its current branch, that branch's commit, and the staged changes. A
 * commit in a worktree writes none of them (tried). A packed branch has no file of its own, so it is not covered.
 */
export async function mainBranchFiles(checkout: string): Promise<string[]> {
  const git = join(checkout, '.git');
  const head = await readFile(join(git, 'HEAD'), 'utf8').catch(() => '');
  const [, branch] = /^ref: (refs\/heads\/\S+)$/m.exec(head) ?? [];
  return existing(['HEAD', 'index', ...(branch === undefined ? [] : [branch])].map((name) => join(git, name)));
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map(pathExists));
  return paths.filter((_, index) => found[index]);
}

/** The folder for the user's own settings and conversations. @param env the environment that Claude Code gets */
export const configFolder = (env: Readonly<Record<string, string>>): string =>
  env.CLAUDE_CONFIG_DIR || join(env.HOME ?? '/', '.claude');

/** Settings that an administrator makes for everybody on the machine. */
const MANAGED = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
];

const WithHooks = z.object({
  hooks: z.looseObject({ PreToolUse: z.unknown().optional(), PermissionRequest: z.unknown().optional() }).optional(),
  enabledPlugins: z.record(z.string(), z.unknown()).optional(),
});

/**
 * Whether a hook that the user trusts may allow tools: one in the user's or the machine's settings, or in a plugin. A file
 * that cannot be parsed counts as having such a hook, so that the user's own hook is never reported as foreign.
 * @param env the environment that Claude Code gets
 */
export async function mayUserHooksAllow(env: Readonly<Record<string, string>>): Promise<boolean> {
  const folder = configFolder(env);
  const answers = await Promise.all([join(folder, 'settings.json'), ...MANAGED].map(mayAllow));
  return answers.includes(true);
}

async function mayAllow(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return false;
  try {
    const { hooks, enabledPlugins } = WithHooks.parse(JSON.parse(text));
    const plugins = Object.values(enabledPlugins ?? {}).some((isOn) => isOn !== false);
    return plugins || hooks?.PreToolUse !== undefined || hooks?.PermissionRequest !== undefined;
  } catch {
    return true;
  }
}
