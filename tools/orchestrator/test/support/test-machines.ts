import { MachineId } from '@callboard/contract';
import { onTestFinished } from 'vitest';
import {
  createMachineStores,
  followEpochs,
  followLocations,
  followOwnership,
} from '../../../store-postgres/src/machines/machine-stores.ts';
import { startMachines } from '../../../store-postgres/src/machines/machines.ts';
import type { Platform } from '../../src/platform/runtime.ts';
import type { MachineReport } from '../../src/store/ports/machine-port.ts';
import type { Store } from '../../src/store/store.ts';
import { silent } from './test-store.ts';

export const machineId = (n: number): MachineId => MachineId.parse(`0194269f-8c00-7000-8000-00000000000${n}`);

export const machineReport = (fields: Partial<MachineReport> = {}): MachineReport => ({
  name: 'workshop',
  version: '0.1.0',
  claudeVersion: null,
  load: 0,
  freeMemoryBytes: 1e9,
  memoryBytes: 4e9,
  sessions: 0,
  slots: 4,
  freeSlots: 4,
  url: null,
  secretSha256: 'b5bb9d80',
  endsSessionsAfterMs: null,
  ...fields,
});

export const LEASE_MS = 60_000;

/** A machine on a store that several share in one process: what its services see, without an orchestrator. */
export async function joinTestStore(store: Store, n: number, fields: Partial<MachineReport> = {}) {
  const here = machineId(n);
  const report = machineReport({ name: `machine-${n}`, ...fields });
  const epoch = await store.transact((tx) => tx.machines.register(here, report, LEASE_MS));
  const ownership = await followOwnership({ store, log: silent, here });
  const places = await followLocations({ store, log: silent, here });
  const epochs = followEpochs({ store, log: silent, reload: [ownership.reload, places.reload] });
  const { all, own } = createMachineStores(store, { here, ownership, places, epochs });
  const machines = startMachines({ store: all, log: silent, here, ownership, places, checkIntervalMs: 20 });
  onTestFinished(async () => {
    ownership.stop();
    places.stop();
    await epochs.stop();
    await machines.stop();
  });
  return { here, epoch, report, ownership, places, all, own, machines };
}

/** Edges whose clocks a test moves: the monotonic one, and the time of day. */
export function movablePlatform(platform: Platform) {
  const moved = { uptimeMs: 0, timeMs: Date.parse('2026-01-02T03:04:05.000Z') };
  const own: Platform = { ...platform, uptimeMs: () => moved.uptimeMs, now: () => new Date(moved.timeMs) };
  return { platform: own, moved };
}
