import { createHash } from 'node:crypto';
import { hostname, loadavg, totalmem } from 'node:os';
import { join, sep } from 'node:path';
import type { MachineId, Project, Stage } from '@callboard/contract';
import type { Logins } from '../core/commands/logins.ts';
import type { Claims } from '../core/launch/begin-launch.ts';
import { createLease, type Lease, startCutOff } from '../features/machines/lease.ts';
import {
  createMachineStores,
  followEpochs,
  followLocations,
  followOwnership,
  type Locations,
} from '../features/machines/machine-stores.ts';
import { type Machines, startMachines } from '../features/machines/machines.ts';
import { createRelay, type Relay } from '../features/machines/relay.ts';
import type { GatewayPeers } from '../gateway/gateway.ts';
import { createPeerLinks, createPeerServer, type PeerLinksDeps } from '../gateway/peers.ts';
import { type CommandRouter, createCommandRouter } from '../gateway/route-commands.ts';
import { Rejection } from '../lib/errors.ts';
import { identityOf } from '../platform/data-dir.ts';
import { pathExists } from '../platform/files.ts';
import type { MachineReport } from '../store/ports/machine-port.ts';
import type { LaunchRecord } from '../store/records.ts';
import type { Store, Tx } from '../store/store.ts';
import { VERSION } from '../version.ts';
import type { StartContext } from './context.ts';
import { cutOffDeps, type Storage } from './open-storage.ts';

/** What this machine reports of its work, once there is any. */
export type Workload = Pick<MachineReport, 'claudeVersion' | 'sessions' | 'freeSlots'>;

/** This machine among those that share its store. */
export interface Membership {
  machines: Machines;
  places: Locations;
  relay: Relay;
  /** Returns what executes each command where it belongs. */
  routeWith(logins: Pick<Logins, 'lookUp'>): CommandRouter;
  lease: Lease;
  claims: Claims;
  /** Somebody had declared it lost, and it has not kept the work of its former stages since; also if it was removed from the list. */
  wasLost: boolean;
  /** The epoch of its lease, with which it may write. */
  epoch: number;
  /** Live text from and for other machines. */
  peers: GatewayPeers;
  /** Reports the workload with each renewal from now on. */
  reportWith(read: () => Promise<Workload>): void;
}

/** The store as people's commands see it, and as the services that act unasked do: see `MachineStores`. */
export interface Stores {
  all: Store;
  own: Store;
  /** Null: one machine has everything. */
  membership: Membership | null;
}

const NOTHING_YET: Workload = { claudeVersion: null, sessions: 0, freeSlots: 0 };

/**
 * Makes this machine one of those that share the store: it gets a new epoch and a lease. With a store of its own it has
 * everything, and nothing is built.
 * @throws OperationalError `storage_failed`
 */
export async function joinMachines(
  context: StartContext,
  { store, shared }: Pick<Storage, 'store' | 'shared'>,
  onLost: () => void,
): Promise<Stores> {
  if (shared === null) return { all: store, own: store, membership: null };
  const { config, log, platform, limits, life } = context;
  const { id: here, secret } = await identityOf(config.dataDir, platform);
  const cutOffWith = cutOffDeps(context);
  const endsSessionsAfterMs = cutOffWith?.afterMs ?? null;
  let readWorkload = async () => NOTHING_YET;
  const report = async (): Promise<MachineReport> => ({
    name: config.machineName ?? hostname(),
    version: VERSION,
    load: loadavg()[0] ?? 0,
    freeMemoryBytes: platform.availableMemory(),
    memoryBytes: totalmem(),
    slots: config.maxParallel,
    ...(await readWorkload()),
    url: config.machineUrl,
    secretSha256: sha256(secret),
    endsSessionsAfterMs,
  });
  const { lease: times } = limits;
  const reported = await report();
  const { wasLost, epoch } = await store.transact(async (tx) => ({
    wasLost: await tx.machines.wasLost(here), // in one transaction: it may be declared lost, and be removed, at any time before
    epoch: await tx.machines.register(here, reported, times.leaseMs),
  }));
  shared.fenceWith({ machineId: here, epoch });
  const cutOff = cutOffWith && startCutOff({ ...cutOffWith, checkIntervalMs: times.renewMs });
  if (cutOff !== null) life.onStop('count of the time without the store', cutOff.stop);
  const onRenewed = cutOff?.renewed;
  const lease = createLease({ store, platform, log, id: here, epoch, report, times, onEnded: onLost, onRenewed });
  life.onStop('lease', lease.stop);
  const ownership = await followOwnership({ store, log, here });
  life.onStop('ownership', ownership.stop);
  const places = await followLocations({ store, log, here });
  life.onStop('places', places.stop);
  const epochs = followEpochs({ store, log, reload: [ownership.reload, places.reload] });
  life.onStop('epochs', epochs.stop);
  const { all, own } = createMachineStores(store, { here, ownership, places, epochs });
  await adoptStore({ store: all, places, here, dataDir: config.dataDir });
  const machines = startMachines({ store: all, log, here, ownership, places, checkIntervalMs: times.renewMs });
  life.onStop('machines', machines.stop);
  await store.transact((tx) => machines.notify(tx, here));
  const relay = createRelay({ store, platform, log, here, lease });
  life.onStop('relay', relay.stop);
  const claims = createClaims(here, lease);
  const membership = { machines, places, relay, lease, claims, wasLost, epoch };
  return {
    all,
    own,
    membership: {
      ...membership,
      peers: peersOf({ store, log, here, secret, ownerOf: ownership.ownerOf }),
      routeWith: ({ lookUp }) => createCommandRouter(machines, relay, lookUp),
      reportWith(read) {
        readWorkload = read;
      },
    },
  };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A machine that was declared lost is shown nothing until it is back. */
function peersOf({ store, ...parts }: Omit<PeerLinksDeps, 'addressOf' | 'onFrame'> & { store: Store }): GatewayPeers {
  const find = (id: MachineId) => store.read.machines.find(id);
  return {
    entry: createPeerServer({
      log: parts.log,
      async isKnown(id, secret) {
        const machine = await find(id);
        return machine !== null && machine.state !== 'lost' && machine.secretSha256 === sha256(secret);
      },
    }),
    linksWith: (onFrame) =>
      createPeerLinks({ ...parts, onFrame, addressOf: async (id) => (await find(id))?.url ?? null }),
  };
}

function createClaims(here: MachineId, lease: Lease): Claims {
  return {
    here,
    async claim(tx, stage) {
      if (stage.machineId === here) return stage;
      lease.requireDelayed();
      if (!(await tx.stages.claim(stage.id, here)))
        throw new Rejection('already_running', `${stage.id} was started on another machine.`);
      const claimed = { ...stage, machineId: here, updatedAt: tx.now };
      await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage: claimed } });
      return claimed;
    },
  };
}

interface AdoptDeps {
  store: Store;
  places: Locations;
  here: MachineId;
  dataDir: string;
}

/**
 * Takes what this machine had before it shared its store: a store that was moved here from a file names no machines. Projects
 * without any place whose repository is here get one, and started stages whose newest launch was here become its own, with their
 * projects. Another machine may have the same data directory, and start first: it has neither the folder of a launch that may still
 * run nor the worktree of one that has ended.
 */
async function adoptStore({ store, places, here, dataDir }: AdoptDeps): Promise<void> {
  const projects = new Map((await store.read.projects.list()).map((project) => [project.id, project]));
  const place = async (project: Project) => {
    if (!(await pathExists(join(project.path, '.git')))) return;
    await store.transact(async (tx) => {
      await places.add(tx, project, null);
      await tx.emit({ type: 'project-updated', data: { projectId: project.id, project } });
    });
  };
  const placed = new Set((await store.read.projectLocations.list()).map(({ projectId }) => projectId));
  for (const project of projects.values()) if (!placed.has(project.id)) await place(project);

  const placedHere = new Set(
    (await store.read.projectLocations.list()).flatMap(({ projectId, machineId }) =>
      machineId === here ? projectId : [],
    ),
  );
  const sessions = new Set((await store.read.sessions.list()).map(({ stageId }) => stageId));
  for (const stage of await store.read.stages.list()) {
    if (stage.machineId !== null || stage.lost !== null || !sessions.has(stage.id)) continue;
    const newest = (await store.read.launches.listOf(stage.id)).at(-1);
    if (!newest?.folder.startsWith(`${dataDir}${sep}`) || !(await wasHere(newest, stage))) continue;
    await store.transact((tx) => take(tx, stage.id, here));
    const project = projects.get(stage.projectId);
    if (project === undefined || placedHere.has(project.id)) continue;
    placedHere.add(project.id);
    await place(project);
  }
}

/** Whether what a launch has left is on this machine. The folder of one that has ended is removed. */
async function wasHere({ state, folder }: LaunchRecord, { worktree }: Stage): Promise<boolean> {
  if (state !== 'ended') return pathExists(folder);
  return worktree === null || pathExists(worktree.path);
}

/** Names the remotes of repositories that got their place without one, so that other machines know them. */
export async function nameRemotes({
  store,
  places,
  remoteOf,
}: Pick<AdoptDeps, 'store' | 'places'> & { remoteOf: (root: string) => Promise<string | null> }): Promise<void> {
  for (const project of await store.read.projects.list()) {
    if (places.remoteHere(project.id) !== null) continue;
    const remote = await remoteOf(project.path).catch(() => null); // the next start asks again
    if (remote !== null) await store.transact((tx) => places.add(tx, project, remote));
  }
}

async function take(tx: Tx, id: Parameters<Tx['stages']['find']>[0], here: MachineId): Promise<void> {
  const stage = await tx.stages.find(id);
  if (stage === null || !(await tx.stages.claim(id, here))) return;
  await tx.emit({ type: 'stage-updated', data: { stageId: id, stage: { ...stage, machineId: here } } });
}
