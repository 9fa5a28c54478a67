import { setTimeout as sleep } from 'node:timers/promises';
import type { DevServer, StageId, WorkspaceKey, WorkspaceSettings, WorktreeCommand } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { ownProperty } from '../lib/own-property.ts';
import { requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import { portsOf } from './listening-ports.ts';
import { PORTS_OF_A_STAGE } from './ports.ts';
import type { WorktreeCommands } from './worktree-commands.ts';

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
