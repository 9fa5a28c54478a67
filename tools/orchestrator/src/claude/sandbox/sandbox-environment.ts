import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PLACEHOLDERS } from '../../agent/sandbox-placeholders.ts';

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
