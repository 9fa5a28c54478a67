import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { CommandIsolation, Project, Stage, Worktree } from '@callboard/contract';
import { canIsolate, type IsolationSupport, isolated } from '../../platform/bubblewrap.ts';
import { COMMAND_MARKER } from '../../platform/process-table.ts';
import type { PortRange } from '../../store/ports/stage-port.ts';
import { configFolder, loginFolders } from '../claude/launch-options.ts';
import { cacheVariables, sandboxCaches } from '../claude/sandbox.ts';

/** What to run, and where. */
export interface CommandLocation {
  id: string;
  command: string;
  stage: Pick<Stage, 'id' | 'sandbox'>;
  project: Pick<Project, 'id' | 'path' | 'settings'>;
  worktree: Worktree;
  ports: PortRange;
  /** The port in `PORT`. */
  port: number;
  /** Folders in the home folder that the command may write, each as `~/...`. */
  caches: readonly string[];
}

export interface CommandLocationDeps {
  dataDir: string;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  isolation: () => Promise<IsolationSupport>;
}

/** Throws unless the worktree stands where it was made. @throws OperationalError `worktree_replaced` */
export type RequireInPlace = (project: Pick<Project, 'path'>, worktree: Pick<Worktree, 'path'>) => void;

/** The process to start. */
export interface PlacedCommand {
  command: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  isolation: CommandIsolation;
}

/** Secrets in the home folder that no project needs for its set-up. */
const SECRETS = ['.ssh', '.gnupg', '.aws', '.kube', '.config/gh', '.config/glab-cli', '.config/gcloud', '.callboard'];
/** Variables that are secrets of Claude Code's, or name sockets that the sandbox hides. */
const LEFT_OUT =
  /^(ANTHROPIC_.*|CLAUDE_.*|SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|DBUS_SESSION_BUS_ADDRESS|XDG_RUNTIME_DIR|DOCKER_HOST|WAYLAND_DISPLAY|TMPDIR)$/;

/** Returns how to run the command: in Callboard's own sandbox if a person has not switched it off and it works here. */
export async function placeCommand(deps: CommandLocationDeps, location: CommandLocation): Promise<PlacedCommand> {
  const { env } = deps;
  const { command, worktree } = location;
  const shell = ['/bin/sh', '-c', command];
  const variables = variablesOf(location);
  const why = await outsideReason(deps, location);
  if (why === null) return inSandbox(deps, location, { shell, variables });
  const [program = '/bin/sh', ...args] = shell;
  const all = { ...env, ...variables };
  return { command: program, args, cwd: worktree.path, env: all, isolation: { level: 'none', reason: why } };
}

/** The variables of Callboard that a command gets, beside the user's own. */
const variablesOf = ({ id, stage, project, worktree, ports, port }: CommandLocation): Record<string, string> => ({
  CALLBOARD_STAGE_ID: stage.id,
  CALLBOARD_STAGE_INDEX: String(ports.place),
  CALLBOARD_PORT_BASE: String(ports.base),
  CALLBOARD_WORKTREE: worktree.path,
  CALLBOARD_BRANCH: worktree.branch,
  CALLBOARD_MAIN_CHECKOUT: project.path,
  PORT: String(port),
  [COMMAND_MARKER]: id,
});

async function outsideReason(
  { isolation }: CommandLocationDeps,
  { stage, project }: CommandLocation,
): Promise<string | null> {
  if (stage.sandbox === false) return 'The sandbox is switched off for this stage.';
  if (stage.sandbox === null && project.settings.sandbox !== true) return 'The sandbox is off for this project.';
  const support = await isolation();
  return support.possible ? null : support.detail;
}

async function inSandbox(
  { dataDir, env }: CommandLocationDeps,
  { project, worktree, caches }: CommandLocation,
  { shell, variables }: { shell: string[]; variables: Record<string, string> },
): Promise<PlacedCommand> {
  const home = env.HOME ?? '/';
  const own = sandboxCaches(dataDir, project.id);
  const named = caches.map((path) => join(home, path.slice('~/'.length)));
  for (const folder of [own, ...named]) await mkdir(folder, { recursive: true, mode: 0o700 });
  const secrets = SECRETS.map((name) => join(home, name)).filter((path) => !isAround(path, [dataDir, project.path]));
  const passed = Object.entries(env).filter(([name]) => !LEFT_OUT.test(name));
  const placed = await isolated(
    shell,
    {
      folder: worktree.path,
      dataDir,
      readable: [project.path],
      writable: named,
      ownWritable: [own],
      hidden: [...secrets, join(configFolder(env), '.credentials.json'), ...(await loginFolders(env))],
      network: 'host',
    },
    {
      user: env,
      own: {
        ...Object.fromEntries(passed),
        TMPDIR: '/tmp',
        XDG_CACHE_HOME: join(own, 'xdg'),
        ...cacheVariables(own),
        ...variables,
      },
    },
  );
  return { ...placed, isolation: { level: 'sandbox', reason: null } };
}

/** Whether a folder contains one of the paths, or is it. */
const isAround = (folder: string, paths: readonly string[]): boolean =>
  paths.some((path) => `${resolve(path)}/`.startsWith(`${resolve(folder)}/`));

/** How long a failed trial of the sandbox counts: a person may have installed it meanwhile. */
const AGAIN_MS = 60_000;

/** Tries the sandbox when it is first needed. */
export function createIsolationTrial(env: Readonly<Record<string, string>>): () => Promise<IsolationSupport> {
  let tried: Promise<IsolationSupport> | undefined;
  let at = 0;
  return async () => {
    const known = await tried;
    if (known !== undefined && (known.possible || performance.now() - at < AGAIN_MS)) return known;
    at = performance.now();
    tried = canIsolate(env);
    return tried;
  };
}
