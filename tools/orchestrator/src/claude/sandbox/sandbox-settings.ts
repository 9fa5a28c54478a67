import { mkdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { terminalLoginFolders } from '@callboard/runtime/terminal-login';
import { pathExists } from '../../lib/path-exists.ts';
import { configFolder } from '../user-settings.ts';

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
export const ASK_TO_LEAVE = 'Bash(dangerouslyDisableSandbox:true)';

/** Every port of this machine, Callboard's included. The CLI itself refuses a name that resolves to one of these (tried). */
const LOOPBACK = ['localhost', '*.localhost', '127.0.0.1', '0.0.0.0', '[::1]'];

/**
 * The `sandbox` part of a launch's settings (names as in CLI 2.1.330). Lists are merged with those of other settings, and
 * denials win over permissions. These settings take precedence over the user's and the repository's.
 */
export const sandboxSettings = (sandbox: LaunchSandbox, hosts: readonly string[]): object => ({
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
