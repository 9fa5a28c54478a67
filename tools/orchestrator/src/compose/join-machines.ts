import { createHash } from 'node:crypto';
import { hostname, loadavg, totalmem } from 'node:os';
import type { MachineId } from '@callboard/contract';
import type { Logins } from '../auth/logins.ts';
import type { GatewayPeers } from '../gateway/gateway.ts';
import { createPeerServer } from '../gateway/peer-door.ts';
import { createPeerLinks, type PeerLinksDeps } from '../gateway/peer-links.ts';
import { type CommandRouter, createCommandRouter } from '../gateway/route-commands.ts';
import { Rejection } from '../lib/errors.ts';
import { startCutOff } from '../machines/cut-off.ts';
import { followEpochs } from '../machines/follow-epochs.ts';
import { identityOf } from '../machines/identity.ts';
import { createLease, type Lease } from '../machines/lease.ts';
import { createMachineStores } from '../machines/machine-stores.ts';
import { type Machines, startMachines } from '../machines/machines.ts';
import { followOwnership } from '../machines/ownership.ts';
import { followLocations, type Locations } from '../machines/places.ts';
import { createRelay, type Relay } from '../machines/relay.ts';
import type { Claims } from '../sessions/launch/begin-launch.ts';
import type { MachineReport } from '../store/ports/machine-tables.ts';
import type { Store } from '../store/store.ts';
import { VERSION } from '../version.ts';
import { adoptStore } from './adopt-store.ts';
import { cutOffDeps } from './cut-off-parts.ts';
import type { SharedStore } from './open-storage.ts';
import type { StartContext } from './start-context.ts';

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
  { store, shared }: { store: Store; shared: SharedStore | null },
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
