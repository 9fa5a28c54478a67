import { createHash } from 'node:crypto';
import { hostname, loadavg, totalmem } from 'node:os';
import { join, sep } from 'node:path';
import {
  isWorking,
  type MachineId,
  type Project,
  type SessionSummary,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { endWithoutStore } from '@callboard/orchestrator/end-all-sessions';
import {
  type BeginDeps,
  type Claims,
  type GatewayPeers,
  type SharedStores,
  type StartContext,
  VERSION,
  type Workload,
} from '@callboard/orchestrator/machines';
import {
  dataDirLayout,
  identityOf,
  type LaunchRecord,
  type MachineReport,
  onEvents,
  onSessionChange,
  pathExists,
  Rejection,
  type Store,
  type Tx,
} from '@callboard/orchestrator/store';
import { type CutOffDeps, createLease, endIfCutOff, type Lease, startCutOff } from './lease.ts';
import {
  createMachineStores,
  followEpochs,
  followLocations,
  followOwnership,
  type Locations,
} from './machine-stores.ts';
import { createMachineGate, startMachines } from './machines.ts';
import { recoverOrphanedWorktrees, saveOrphanedWork } from './orphaned-worktrees.ts';
import { createPeerLinks, createPeerServer, type PeerLinksDeps } from './peers.ts';
import { createRelay } from './relay.ts';
import { createCommandRouter } from './route-commands.ts';

const NOTHING_YET: Workload = { claudeVersion: null, sessions: 0, freeSlots: 0 };

/** As `SharedStores.joinMachines`. */
export const joinMachines: SharedStores['joinMachines'] = async (context, { store, shared }, onLost) => {
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
  const returning = { here, machines, wasLost, epoch };
  return {
    all,
    own,
    membership: {
      here,
      machines,
      requirePin: machines.requirePin,
      leads: machines.leads,
      places: { ...places, nameRemotes: (remoteOf) => nameRemotes({ store: own, places, remoteOf }) },
      claims: createClaims(here, lease),
      mayWrite: lease.isHeld,
      gates: [createMachineGate(machines)],
      peers: peersOf({ store, log, here, secret, ownerOf: ownership.ownerOf }),
      routeWith: ({ lookUp }) => createCommandRouter(machines, relay, lookUp),
      saveOrphanedWork: (deps) => saveOrphanedWork(context, { ...deps, store: all, membership: returning }),
      recoverOrphanedWorktrees: (deps) => recoverOrphanedWorktrees(context, returning, { ...deps, store: all }),
      begin(deps) {
        readWorkload = deps.workload;
        life.onStop('membership', watchWorkload({ own, lease, ...deps }));
        relay.serve(deps.execute);
        void lease.renew().then(() => own.transact((tx) => machines.notify(tx, here)).catch(() => undefined)); // with its room
      },
    },
  };
};

/** How long a change of the workload waits for others before it is reported. */
const REPORT_MS = 200;

/** Notices when a session begins or stops to work. */
function createWorkload() {
  const working = new Set<StageId>();
  return {
    /** Whether this changes how many sessions work. */
    has({ stageId, state }: Pick<SessionSummary, 'stageId' | 'state'>): boolean {
      if (isWorking(state) === working.has(stageId)) return false;
      if (!working.delete(stageId)) working.add(stageId);
      return true;
    },
  };
}

/** Reports the workload when it changes: the others place stages by what this machine last reported. Returns a function that stops that. */
function watchWorkload({
  own,
  lease,
  onMayWriteAgain,
  onMachineUpdate,
}: { own: Store; lease: Lease } & Pick<BeginDeps, 'onMayWriteAgain' | 'onMachineUpdate'>): () => void {
  const workload = createWorkload();
  const unlisten = [
    lease.onRegained(onMayWriteAgain),
    onEvents(own, ['machine-updated'], onMachineUpdate),
    onSessionChange(own, ['state'], (session) => {
      if (workload.has(session)) lease.renewIn(REPORT_MS);
    }),
  ];
  return () => {
    for (const stop of unlisten) stop();
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
async function nameRemotes({
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

/** How long a session has to end after a signal. */
const GRACE_MS = 5_000;

/** What ends the sessions of this machine when it is cut off; null if nothing does. Needs `/proc`, by which processes are found. */
function cutOffDeps({ config, log }: Pick<StartContext, 'config' | 'log'>): CutOffDeps | null {
  const { dataDir, endSessionsAfterMinutes } = config;
  if (endSessionsAfterMinutes === null) return null;
  if (process.platform !== 'linux') {
    log.warn(
      'CALLBOARD_END_SESSIONS_AFTER_MINUTES has no effect: without the database, sessions are found on Linux only',
    );
    return null;
  }
  return {
    file: dataDirLayout(dataDir).renewal,
    log,
    afterMs: Math.round(endSessionsAfterMinutes * 60_000),
    async end(reason) {
      const options = { log: (line: string) => log.warn(line), graceMs: GRACE_MS, reason };
      return (await endWithoutStore(dataDir, options)).failed;
    },
  };
}

/** As `SharedStores.endIfCutOff`. */
export async function endSessionsIfCutOff(context: StartContext): Promise<void> {
  const cutOff = cutOffDeps(context);
  if (cutOff !== null) await endIfCutOff(cutOff);
}
