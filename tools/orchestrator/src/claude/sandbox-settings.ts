import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { configFolder } from './config-folder.ts';

/** What the sandbox of a launch lets through, and keeps from everything. All paths are absolute, and exist. */
export interface LaunchSandbox {
  /** Commands in it run without a question. */
  autoAllow: boolean;
  /** Unix sockets that commands may connect to. */
  sockets: readonly string[];
  /** Not to be read or written, but for `readable`. */
  hidden: readonly string[];
  readable: readonly string[];
  /** To be written, beside the worktree and what a commit needs. */
  writable: readonly string[];
  /** Not to be written, whatever other settings say. */
  kept: readonly string[];
  /** For the environment of Claude Code. */
  variables: Readonly<Record<string, string>>;
}

/**
 * Has a call that leaves the sandbox asked for always: without it, a rule such as `Bash(npm *)` lets it go (tried). It goes
 * before allow rules, also those of the session, before hooks, and holds in every mode.
 */
export const ASK_TO_LEAVE = 'Bash(dangerouslyDisableSandbox:true)';

/** Every port of this machine, Callboard's among them. A name that leads here is refused by the CLI itself (tried). */
const LOOPBACK = ['localhost', '*.localhost', '127.0.0.1', '0.0.0.0', '[::1]'];

/**
 * The `sandbox` part of the settings of a launch (names as CLI 2.1.330 has them). Lists are added to those of other settings,
 * and what is denied goes before what is allowed. What is said here goes before the user's and the repository's own.
 */
export const sandboxSettings = (sandbox: LaunchSandbox, hosts: readonly string[]): object => ({
  enabled: true,
  // Otherwise it would run everything outside, with a line on stderr, where the sandbox is not to be had.
  failIfUnavailable: true,
  autoAllowBashIfSandboxed: sandbox.autoAllow,
  // What would open it, in the user's settings or written into a file while the session runs.
  enableWeakerNestedSandbox: false,
  allowNestedUserNamespaces: false,
  network: {
    allowedDomains: hosts,
    deniedDomains: LOOPBACK,
    allowUnixSockets: sandbox.sockets,
    // Linux has no choice between sockets: it is all or none.
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

export interface SandboxPlaces {
  dataDir: string;
  /** The main checkout. */
  checkout: string;
  /** The environment that Claude Code is given. */
  env: Readonly<Record<string, string>>;
}

/**
 * What a sandbox keeps from commands on this machine. Only what is there: the CLI puts a device in the place of a file that is
 * not, and git then cannot read its own configuration (tried).
 */
export async function sandboxPlaces({ dataDir, checkout, env }: SandboxPlaces) {
  const home = env.HOME ?? '/';
  const config = configFolder(env);
  const present = async (paths: readonly string[]) => {
    const found = await Promise.all(
      paths.map((path) =>
        access(path)
          .then(() => true)
          .catch(() => false),
      ),
    );
    return paths.filter((_, index) => found[index]);
  };
  return {
    hidden: await present([dataDir, join(config, '.credentials.json')]),
    readable: await present([join(dataDir, 'worktrees')]),
    // The rest of the main checkout is not written either, unless the user's own settings allow it. To deny it as a whole would deny
    // its `.git`, of which the CLI itself leaves open what a commit needs (tried).
    kept: await present([
      ...['.claude', '.mcp.json'].map((name) => join(checkout, name)),
      config,
      ...['.claude.json', '.gitconfig', '.config/git'].map((name) => join(home, name)),
    ]),
  };
}
