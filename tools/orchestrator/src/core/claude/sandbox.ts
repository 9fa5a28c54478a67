import { access, constants, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { SandboxSupport } from '@callboard/contract';
import { PLACEHOLDERS } from '../../platform/git/locate-checkout.ts';
import { run } from '../../platform/processes.ts';

const TIMEOUT_MS = 10_000;

/** How the CLI (2.1.330) starts each command on Linux, without the paths that it binds. */
const BWRAP = [
  ...['--new-session', '--die-with-parent', '--unshare-net', '--ro-bind', '/', '/', '--dev', '/dev'],
  ...['--unshare-pid', '--unshare-user', '--cap-drop', 'ALL', '--proc', '/proc', '--'],
];

/** Prints `inside` if the command has its own network, and `open` if root could still change which program the kernel runs. */
const PROBE = [
  'socat -V >/dev/null || exit 1',
  '[ "$(grep -c : /proc/net/dev)" = 1 ] && echo inside',
  '(: >>/proc/sys/kernel/core_pattern) 2>/dev/null && echo open',
  'exit 0',
].join('\n');

/**
 * Checks Claude Code's sandbox by running a command in one. Finding the programs is not enough, since the system may forbid
 * what they need. Never throws.
 * @param env the environment that `claude` gets; its PATH decides which programs are used
 */
export async function checkSandbox(
  env: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<SandboxSupport> {
  switch (process.platform) {
    case 'linux':
      return onLinux(env, signal);
    case 'darwin':
      return onMac(env, signal);
    default:
      return fails('Claude Code’s sandbox works on Linux and macOS only.', null);
  }
}

const WORKS: SandboxSupport = { state: 'works', why: null, how: null };
const fails = (why: string, how: string | null): SandboxSupport => ({ state: 'fails', why, how });

async function onLinux(env: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<SandboxSupport> {
  const programs = await Promise.all(['bwrap', 'socat'].map((name) => find(name, env.PATH)));
  const missing = ['bubblewrap', 'socat'].filter((_, index) => programs[index] === null);
  if (missing.length > 0)
    return fails(
      `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} not installed.`,
      await advice('install'),
    );
  const ran = await attempt('bwrap', [...BWRAP, '/bin/sh', '-c', PROBE], env, signal);
  const lines = ran.stdout.split('\n');
  if (!ran.failed && lines.includes('open')) return fails(OPEN_TO_ROOT, await advice('not-root'));
  if (!ran.failed && lines.includes('inside')) return WORKS;
  const detail = ran.stderr.trim().split('\n', 1)[0] || 'it ended without output';
  const forbidden = /permission denied|operation not permitted/i.test(detail);
  return fails(`A command in the sandbox does not start: ${detail}.`, await advice(forbidden ? 'allow' : 'look'));
}

const OPEN_TO_ROOT =
  'Callboard runs as root, and a command in the sandbox could still make the kernel run a program outside of it.';

/** Runs a command with a profile that allows everything. Not tried on a Mac. */
async function onMac(env: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<SandboxSupport> {
  const ran = await attempt('sandbox-exec', ['-p', '(version 1)(allow default)', '/usr/bin/true'], env, signal);
  if (!ran.failed) return WORKS;
  return fails(
    `A command in the sandbox does not start: ${ran.stderr.trim().split('\n', 1)[0] || ran.reason}.`,
    await advice('look'),
  );
}

async function attempt(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal?: AbortSignal,
) {
  const ran = await run({ command, args, env, timeoutMs: TIMEOUT_MS, graceMs: 1_000 }, signal);
  return { ...ran, reason: ran.complaint ?? 'it failed' };
}

/** Searches the path as a shell does. */
async function find(program: string, path = ''): Promise<string | null> {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, program);
    if (
      folder !== '' &&
      (await access(file, constants.X_OK)
        .then(() => true)
        .catch(() => false))
    )
      return file;
  }
  return null;
}

async function advice(wanted: Advice): Promise<string> {
  const text = (path: string) => readFile(path, 'utf8').catch(() => '');
  const [osRelease, appArmor, clone] = await Promise.all([
    text('/etc/os-release'),
    text('/proc/sys/kernel/apparmor_restrict_unprivileged_userns'),
    text('/proc/sys/kernel/unprivileged_userns_clone'),
  ]);
  return adviceFor(wanted, {
    isMac: process.platform === 'darwin',
    osRelease,
    appArmorForbids: appArmor.trim() === '1',
    kernelForbids: clone.trim() === '0',
  });
}

/** How a person can fix the sandbox: `install` programs, `allow` what the system forbids, or `look` for the cause. */
export type Advice = 'install' | 'allow' | 'not-root' | 'look';

/** The facts about the system that the advice depends on. */
export interface System {
  isMac: boolean;
  /** The text of `/etc/os-release`. */
  osRelease: string;
  /** AppArmor keeps programs without a profile from creating user namespaces, as on Ubuntu since 23.10. */
  appArmorForbids: boolean;
  /** The kernel lets only root create them. */
  kernelForbids: boolean;
}

const INSTALL: readonly [RegExp, string][] = [
  [/debian|ubuntu/, 'sudo apt install bubblewrap socat'],
  [/fedora|rhel|centos/, 'sudo dnf install bubblewrap socat'],
  [/arch/, 'sudo pacman -S bubblewrap socat'],
  [/suse/, 'sudo zypper install bubblewrap socat'],
  [/alpine/, 'sudo apk add bubblewrap socat'],
];

/** One or two sentences for a person; commands stand in backticks. */
export function adviceFor(wanted: Advice, system: System): string {
  switch (wanted) {
    case 'install':
      return install(system);
    case 'allow':
      return allow(system);
    case 'not-root':
      return 'Start Callboard as an ordinary user.';
    case 'look':
      return system.isMac
        ? 'The sandbox is part of macOS. Check why `sandbox-exec` does not run.'
        : 'Run `callboard doctor` for details.';
    default:
      return wanted satisfies never;
  }
}

function install({ isMac, osRelease }: System): string {
  if (isMac) return 'The sandbox is part of macOS; there is nothing to install.';
  const ids = [...osRelease.matchAll(/^(?:ID|ID_LIKE)=(.*)$/gm)].map(([, value]) => value ?? '').join(' ');
  const command = INSTALL.find(([id]) => id.test(ids.toLowerCase()))?.[1];
  return command === undefined
    ? 'Install bubblewrap and socat, then restart Callboard.'
    : `Run \`${command}\`, then restart Callboard.`;
}

/** Like the profiles that Ubuntu ships for similar programs: `unconfined` allows nothing new except user namespaces. */
const PROFILE =
  "printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor";

function allow({ appArmorForbids, kernelForbids }: System): string {
  if (appArmorForbids)
    return `AppArmor keeps bubblewrap from creating a sandbox. Allow it with \`${PROFILE}\`, then restart Callboard.`;
  if (kernelForbids)
    return 'The kernel lets only root create a sandbox. Run `sudo sysctl -w kernel.unprivileged_userns_clone=1`, then restart Callboard.';
  return 'The system keeps bubblewrap from creating a sandbox. In a container, allow user namespaces; `callboard doctor` tries again.';
}

/**
 * Caches of package managers and compilers, by the variables that move them. The user's own caches are read-only inside the
 * sandbox: files that a command wrote there would later run outside of it.
 */
const CACHES: Readonly<Record<string, string>> = {
  npm_config_cache: 'npm',
  YARN_CACHE_FOLDER: 'yarn',
  YARN_GLOBAL_FOLDER: 'yarn-berry',
  PNPM_HOME: 'pnpm',
  BUN_INSTALL_CACHE_DIR: 'bun',
  DENO_DIR: 'deno',
  PIP_CACHE_DIR: 'pip',
  UV_CACHE_DIR: 'uv',
  CARGO_HOME: 'cargo',
  GOCACHE: 'go-build',
  GOMODCACHE: 'go-mod',
  CCACHE_DIR: 'ccache',
};

/** Returns the variables that move caches into this folder. */
export const cacheVariables = (folder: string): Record<string, string> =>
  Object.fromEntries(Object.entries(CACHES).map(([name, below]) => [name, join(folder, below)]));

/** Keeps git from maintenance: nothing inside may write the configuration, or the reflogs of other worktrees. */
const GIT = { 'gc.auto': '0', 'maintenance.auto': 'false' };

export interface SandboxEnvironmentDeps {
  dataDir: string;
  projectId: string;
  stageId: string;
  worktree: string;
  /** The environment that Claude Code gets. */
  env: Readonly<Record<string, string>>;
}

export interface SandboxEnvironment {
  /** For the environment of Claude Code. */
  variables: Record<string, string>;
  /** Paths in the data directory that commands in the sandbox must be able to read, and to write. */
  readable: string[];
  writable: string[];
}

/** The path of a stage's script. */
export const sandboxScript = (dataDir: string, stageId: string): string => join(dataDir, 'sandbox', `${stageId}.sh`);

/** The folder of a project's caches. */
export const sandboxCaches = (dataDir: string, projectId: string): string => join(dataDir, 'caches', projectId);

/**
 * Writes the script that Claude Code (2.1.330) sources before every Bash command. Its variables apply only inside the
 * sandbox: MCP servers and hooks do not source it, and would otherwise run packages from a cache that any command may write.
 */
export async function prepareSandboxEnvironment(deps: SandboxEnvironmentDeps): Promise<SandboxEnvironment> {
  const { dataDir, projectId, stageId } = deps;
  const caches = sandboxCaches(dataDir, projectId);
  const script = sandboxScript(dataDir, stageId);
  await mkdir(caches, { recursive: true, mode: 0o700 });
  await mkdir(join(dataDir, 'sandbox'), { recursive: true, mode: 0o700 });
  await writeFile(script, scriptFor(deps, caches));
  return {
    variables: { CLAUDE_ENV_FILE: script },
    readable: [script, caches],
    writable: [caches],
  };
}

/** Shell text that bash and zsh understand. */
function scriptFor({ worktree, stageId, env }: SandboxEnvironmentDeps, caches: string): string {
  const { CLAUDE_ENV_FILE: own } = env;
  const moved = Object.entries(cacheVariables(caches)).map(([name, path]) => `  export ${name}=${quoted(path)}`);
  const git = Object.entries(GIT).map(([key, value]) => `  callboard_git ${key} ${value}`);
  const mountPoints = `(cd ${quoted(worktree)} && find ${PLACEHOLDERS.join(' ')} -prune -type f -size 0 ! -perm -200 ! -perm -020 ! -perm -002 2>/dev/null | sed 's|^|/|')`;
  return `${own === undefined ? '' : `[ -r ${quoted(own)} ] && . ${quoted(own)}`}
callboard_git() {
  callboard_at=\${GIT_CONFIG_COUNT:-0}
  export "GIT_CONFIG_KEY_$callboard_at=$1" "GIT_CONFIG_VALUE_$callboard_at=$2"
  export GIT_CONFIG_COUNT=$((callboard_at + 1))
}
callboard_own=$(git config --path --get core.excludesFile 2>/dev/null)
if [ -n "\${SANDBOX_RUNTIME:-}" ]; then
${moved.join('\n')}
  # Otherwise npm asks its registry for a newer npm now and then, also while it runs nothing but tests.
  [ -n "\${npm_config_update_notifier-}\${NPM_CONFIG_UPDATE_NOTIFIER-}" ] || export npm_config_update_notifier=false
  # Cargo reads its settings there.
  if [ -e "$HOME/.cargo/config.toml" ] && [ ! -e "$CARGO_HOME/config.toml" ]; then
    mkdir -p "$CARGO_HOME" && ln -sf "$HOME/.cargo/config.toml" "$CARGO_HOME/config.toml"
  fi
${git.join('\n')}
  # The sandbox puts devices where files are not to be made, and "git add -A" fails over them. What stands there because another
  # command runs in a sandbox is an empty file that nobody may write, and may come and go while this command runs.
  callboard_list="\${TMPDIR:-/tmp}/callboard-ignore-${stageId}"
  {
    cat "\${callboard_own:-\${XDG_CONFIG_HOME:-$HOME/.config}/git/ignore}" 2>/dev/null && echo
    for callboard_name in ${PLACEHOLDERS.join(' ')}; do
      callboard_path=${quoted(worktree)}/"$callboard_name"
      if [ -c "$callboard_path" ] || ! { [ -e "$callboard_path" ] || [ -L "$callboard_path" ]; }; then echo "/$callboard_name"; fi
    done
    ${mountPoints}
  } >"$callboard_list" 2>/dev/null && callboard_git core.excludesFile "$callboard_list"
else
  # Outside, files of these names can be made: only what is a placeholder now is ignored, in a list of its own.
  callboard_found=$${mountPoints}
  if [ -n "$callboard_found" ]; then
    callboard_list="\${TMPDIR:-/tmp}/callboard-ignore-outside-${stageId}"
    {
      cat "\${callboard_own:-\${XDG_CONFIG_HOME:-$HOME/.config}/git/ignore}" 2>/dev/null && echo
      echo "$callboard_found"
    } >"$callboard_list" 2>/dev/null && callboard_git core.excludesFile "$callboard_list"
  fi
fi
unset -f callboard_git
unset callboard_at callboard_list callboard_own callboard_name callboard_path callboard_found
`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
