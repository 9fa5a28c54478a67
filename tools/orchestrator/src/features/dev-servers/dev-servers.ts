import { setTimeout as sleep } from 'node:timers/promises';
import type { DevServer, StageId, WorkspaceKey, WorkspaceSettings, WorktreeCommand } from '@callboard/contract';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { RequireInPlace } from '../../core/shell/command-sandbox.ts';
import { PORTS_OF_A_STAGE, portsOf, type WorktreeCommands } from '../../core/shell/worktree-commands.ts';
import type { CleanUp, SetUp } from '../../core/shell/worktree-setup.ts';
import { Rejection } from '../../lib/errors.ts';
import { ownProperty } from '../../lib/text.ts';
import { pathExists } from '../../platform/files.ts';
import { detach, run } from '../../platform/processes.ts';
import { requireProject, requireStage, type Store } from '../../store/store.ts';

export interface DevServersDeps {
  store: Store;
  commands: WorktreeCommands;
  /** As in `SetUpDeps`. */
  settingsOf: (stageId: StageId, key: WorkspaceKey) => Promise<WorkspaceSettings>;
  /** The settings in force, whether or not they may be used. */
  namesOf: (stageId: StageId) => Promise<Pick<WorkspaceSettings, 'devServers'>>;
}

/** The dev servers of a project, in the worktree of a stage. */
export interface DevServers {
  /** @throws Rejection `unknown_stage` */
  list(stageId: StageId): Promise<DevServer[]>;
  /** @throws Rejection `unknown_server`, `already_done`, and as `WorktreeCommands.start` */
  start(stageId: StageId, name: string, by: string): Promise<DevServer>;
  /** @throws Rejection `unknown_server` */
  stop(stageId: StageId, name: string, by: string): Promise<DevServer>;
}

/** How often, and how long, it is looked for the port of a new server. */
const CHECK_INTERVAL_MS = 500;
const SEARCH_MS = 10 * 60_000;

export function createDevServers({ store, commands, settingsOf, namesOf }: DevServersDeps): DevServers {
  const newestRun = async (stageId: StageId, name: string): Promise<WorktreeCommand | null> =>
    (await store.read.worktreeCommands.listOf(stageId)).findLast((run) => run.kind === 'server' && run.name === name) ??
    null;

  async function one(stageId: StageId, name: string): Promise<DevServer> {
    const found = (await list(stageId)).find((server) => server.name === name);
    if (found === undefined) throw unknownServer(name);
    return found;
  }

  async function list(stageId: StageId): Promise<DevServer[]> {
    await requireStage(store.read, stageId);
    const { devServers } = await namesOf(stageId);
    const runs = await store.read.worktreeCommands.listOf(stageId);
    const running = runs.filter(({ kind, state }) => kind === 'server' && state === 'running').map(({ name }) => name);
    return [...new Set([...Object.keys(devServers), ...running])].map((name) => {
      const run = runs.findLast((run) => run.kind === 'server' && run.name === name) ?? null;
      return { name, command: ownProperty(devServers, name)?.command ?? run?.command ?? '', run };
    });
  }

  /** Looks where the server listens, until it does or has ended. */
  async function findPort(id: string, wanted: number | null, ended: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    void ended.then(() => over.abort());
    const until = performance.now() + SEARCH_MS;
    while (!over.signal.aborted && performance.now() < until) {
      const ports = await portsOf(await commands.pids(id));
      const port = ports.find((port) => port === wanted) ?? ports[0];
      if (port !== undefined) return savePort(store, id, port);
      await sleep(CHECK_INTERVAL_MS, undefined, { signal: over.signal, ref: false }).catch(() => undefined);
    }
  }

  return {
    list,
    async start(stageId, name, by) {
      const stage = await requireStage(store.read, stageId);
      if (stage.completedAt !== null)
        throw new Rejection('already_done', `${stageId} is done. Reopen it to start its servers.`);
      const { devServers } = await settingsOf(stageId, 'devServers');
      const server = ownProperty(devServers, name);
      if (server === undefined) throw unknownServer(name);
      const portOffset = Object.keys(devServers).indexOf(name) % PORTS_OF_A_STAGE;
      const order = {
        stageId,
        kind: 'server',
        name,
        command: server.command,
        timeLimitMs: null,
        by,
        portOffset,
      } as const;
      const { command, ended } = await commands.start(order);
      void findPort(command.id, server.port ?? null, ended).catch(() => undefined); // the stage was removed, or the store is closed
      return one(stageId, name);
    },
    async stop(stageId, name, by) {
      const run = await newestRun(stageId, name);
      if (run === null) throw unknownServer(name);
      await commands.stop(stageId, run.id, by);
      return one(stageId, name);
    },
  };
}

const unknownServer = (name: string): Rejection =>
  new Rejection('unknown_server', `The project has no dev server "${name}". Its settings name those that it has.`);

async function savePort(store: Store, id: string, port: number): Promise<void> {
  await store.transact(async (tx) => {
    const command = await tx.worktreeCommands.find(id);
    if (command === null || command.state !== 'running') return;
    await tx.worktreeCommands.update({ ...command, port });
    await tx.emit({ type: 'worktree-command-updated', data: { ...command, port } });
  });
}

export interface WorkspaceDeps {
  worktreeCommands: WorktreeCommands;
  setUp: SetUp;
  cleanUp: CleanUp;
  devServers: DevServers;
  editors: Editors;
}

type WorkspaceCommands =
  | 'get_editors'
  | 'open_in_editor'
  | 'get_stage_commands'
  | 'run_stage_command'
  | 'get_servers'
  | 'start_server'
  | 'stop_server'
  | 'get_command_output'
  | 'stop_command';

export function workspaceCommands(deps: WorkspaceDeps): Pick<CommandHandlers, WorkspaceCommands> {
  const { worktreeCommands, setUp, cleanUp, devServers, editors } = deps;
  return {
    get_editors: async () => ({ editors: await editors.list() }),
    open_in_editor: async ({ stageId }) => ({ command: await editors.open(stageId) }),
    run_stage_command: async ({ stageId, kind }, { actor }) => ({
      command: await (kind === 'setup' ? setUp : cleanUp).runAgain(stageId, actor.name),
    }),
    get_stage_commands: async ({ stageId }) => ({ commands: await worktreeCommands.list(stageId) }),
    get_servers: async ({ stageId }) => ({ servers: await devServers.list(stageId) }),
    start_server: async ({ stageId, name }, { actor }) => ({
      server: await devServers.start(stageId, name, actor.name),
    }),
    stop_server: async ({ stageId, name }, { actor }) => ({ server: await devServers.stop(stageId, name, actor.name) }),
    get_command_output: ({ stageId, commandId, after }) => worktreeCommands.output(stageId, commandId, { after }),
    stop_command: async ({ stageId, commandId }, { actor }) => ({
      command: await worktreeCommands.stop(stageId, commandId, actor.name),
    }),
  };
}

/** Editors that open a folder given as their argument, in the order in which one is chosen. */
const KNOWN = [
  'code',
  'cursor',
  'windsurf',
  'zed',
  'zeditor',
  'idea',
  'webstorm',
  'pycharm',
  'goland',
  'subl',
  'codium',
];

/** Opens worktrees in the editor of the person who sits at this machine. */
export interface Editors {
  /** The commands of known editors on the user's PATH, in the order in which one is chosen. */
  list(): Promise<string[]>;
  /**
   * Opens the stage's worktree with the command of its project, or else with the first editor found. The editor lives on.
   * @returns the command
   * @throws Rejection `unknown_stage`, `no_worktree`; `no_editor` if there is none, or if its command fails at once; OperationalError `worktree_replaced`
   */
  open(stageId: StageId): Promise<string>;
}

export interface EditorsDeps {
  store: Store;
  requireInPlace: RequireInPlace;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  /** How long a command is watched: the launcher of an editor ends soon, or stays for as long as its window. */
  watchMs?: number;
}

const WATCH_MS = 3_000;
const FIND_MS = 5_000;
/** The exit codes of a shell that found no such command, or may not run it. */
const NOT_FOUND = [126, 127];

export function createEditors({ store, requireInPlace, env, watchMs = WATCH_MS }: EditorsDeps): Editors {
  async function list(): Promise<string[]> {
    const find = `for one in ${KNOWN.join(' ')}; do command -v "$one" >/dev/null && echo "$one"; done`;
    const { stdout } = await run({ command: '/bin/sh', args: ['-c', find], env, timeoutMs: FIND_MS });
    return stdout.split('\n').filter((name) => name !== '');
  }

  return {
    list,
    async open(stageId) {
      const { worktree, projectId } = await requireStage(store.read, stageId);
      const { settings, path } = await requireProject(store.read, projectId);
      if (worktree === null || (worktree.isCleanedUp === true && !(await pathExists(worktree.path))))
        throw new Rejection('no_worktree', `${stageId} has no worktree on the disk. Start the stage to create one.`);
      requireInPlace({ path }, worktree);
      const command = settings.editor ?? (await list())[0];
      if (command === undefined) throw new Rejection('no_editor', `No editor was found on PATH. ${NAME_ONE}`);
      const nothing = { path: '/dev/null', flags: 'r+' };
      const { exit } = await detach({
        command: '/bin/sh',
        args: ['-c', `${command} "$1"`, 'sh', worktree.path],
        cwd: worktree.path,
        env,
        stdio: [nothing, nothing, nothing],
      });
      const ended = await Promise.race([exit, sleep(watchMs, null, { ref: false })]);
      if (ended === null || !ended.known || ended.code === 0) return command;
      const how =
        ended.code !== null && NOT_FOUND.includes(ended.code)
          ? 'there is no such command on PATH'
          : `it ended with ${ended.code === null ? ended.signal : `exit code ${ended.code}`}`;
      throw new Rejection('no_editor', `\`${command}\` did not open ${worktree.path}: ${how}. ${NAME_ONE}`);
    },
  };
}

const NAME_ONE = "Name the editor's command in the settings of the project, or copy the path.";
