import { expect, it, onTestFinished, vi } from 'vitest';
import { postgresLack } from '../../../../test-support/postgres.ts';
import { until } from '../../../../test-support/until.ts';
import { OperationalError } from '../../../orchestrator/src/lib/errors.ts';
import { nodePlatform } from '../../../orchestrator/src/platform/runtime.ts';
import { isStorageFailure } from '../../../orchestrator/src/store/storage-error.ts';
import { startDatabaseProxy } from '../../../orchestrator/test/support/database-proxy.ts';
import {
  LEASE_MS,
  machineId,
  machineReport,
  movablePlatform,
} from '../../../orchestrator/test/support/test-machines.ts';
import { createStoreDatabase } from '../../../orchestrator/test/support/test-postgres.ts';
import { openTestStore, silent } from '../../../orchestrator/test/support/test-store.ts';
import { openPostgresStore } from '../postgres-store.ts';
import { createLease } from './lease.ts';

async function open(report = async () => machineReport()) {
  const { store } = await openTestStore();
  const id = machineId(1);
  const epoch = await store.transact(async (tx) => tx.machines.register(id, machineReport(), LEASE_MS));
  const { platform, moved } = movablePlatform(nodePlatform);
  const onEnded = vi.fn();
  const times = { leaseMs: LEASE_MS, renewMs: 3_600_000, marginMs: 10_000 };
  const lease = createLease({ store, platform, log: silent, id, epoch, report, times, onEnded });
  onTestFinished(lease.stop);
  return { store, id, epoch, moved, lease, onEnded };
}

it('is held until shortly before the store would give it up, by the monotonic clock', async () => {
  const { lease, moved } = await open();
  expect(lease.isHeld()).toBe(true);
  moved.uptimeMs += LEASE_MS - 10_001;
  expect(lease.isHeld()).toBe(true);
  moved.uptimeMs += 1;
  expect(lease.isHeld()).toBe(false);
  expect(() => lease.requireDelayed()).toThrow(expect.objectContaining({ code: 'lease_lost' }));
});

it('is not held after a sleep, in which only the time of day goes on', async () => {
  const { lease, moved } = await open();
  moved.timeMs += LEASE_MS;
  expect(lease.isHeld()).toBe(false);
});

const HOUR_MS = 3_600_000;

it.skipIf(postgresLack !== '').each([
  ['ahead', HOUR_MS],
  ['behind', -HOUR_MS],
])('holds, and is seen to, on a machine whose clock is an hour %s', async (_way, offMs) => {
  const now = () => new Date(Date.now() + offMs);
  const { store, address } = await openTestStore({ ...nodePlatform, now }, 'PostgreSQL');
  if (address === null) throw new Error('no address');
  const other = await openPostgresStore({ address, platform: nodePlatform, log: silent });
  onTestFinished(other.close);
  const here = machineId(1);
  const epoch = await store.transact((tx) => tx.machines.register(here, machineReport(), LEASE_MS));
  const times = { leaseMs: LEASE_MS, renewMs: HOUR_MS, marginMs: 10_000 };
  const report = async () => machineReport();
  const platform = { ...nodePlatform, now };
  const lease = createLease({ store, platform, log: silent, id: here, epoch, report, times, onEnded: () => undefined });
  onTestFinished(lease.stop);
  for (let nth = 0; nth < 2; nth++) {
    expect(lease.isHeld()).toBe(true);
    const seen = await other.read.machines.find(here);
    expect(seen).toMatchObject({ state: 'connected', isConnected: true });
    expect(Math.abs(Date.parse(seen?.seenAt ?? '') - Date.now())).toBeLessThan(HOUR_MS / 2); // the database's clock
    await lease.renew();
  }
  expect(await other.transact((tx) => tx.machines.noteUnreachable())).toEqual([]);
  await expect(other.transact((tx) => tx.machines.declareLost(here))).resolves.toBe(false);
});

it('tries a write while the store cannot be read, so that people are told', async () => {
  const unread = new OperationalError('storage_failed', 'The store cannot be read.');
  const { store, lease, moved } = await open(() => Promise.reject(unread));
  const written = vi.fn();
  onTestFinished(store.onWrite(written));
  moved.uptimeMs += LEASE_MS;
  await lease.renew();
  expect(written).toHaveBeenCalledTimes(1);
  expect(lease.isHeld()).toBe(false);
});

it('tries a write while the report takes long', async () => {
  const answer = Promise.withResolvers<ReturnType<typeof machineReport>>();
  const { store, lease } = await open(() => answer.promise);
  const written = vi.fn();
  onTestFinished(store.onWrite(written));
  const renewal = lease.renew();
  await expect.poll(() => written.mock.calls.length).toBe(1);
  answer.resolve(machineReport());
  await renewal;
  expect(written).toHaveBeenCalledTimes(2);
});

it.skipIf(postgresLack !== '')(
  `is given up in a moment though a renewal waits to hear what became of its commit${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const proxy = await startDatabaseProxy(await createStoreDatabase());
    const store = await openPostgresStore({ address: proxy.address, platform: nodePlatform, log: silent });
    onTestFinished(store.close);
    const id = machineId(1);
    const epoch = await store.transact((tx) => tx.machines.register(id, machineReport(), LEASE_MS));
    const times = { leaseMs: LEASE_MS, renewMs: HOUR_MS, marginMs: 10_000 };
    const report = async () => machineReport();
    const deps = { store, platform: nodePlatform, log: silent, id, epoch, report, times, onEnded: () => undefined };
    const lease = createLease(deps);
    proxy.hangAt('insert into writers');
    const renewal = lease.renew();
    await until('the commit has been sent', () => proxy.isHanging());
    proxy.cut();
    await lease.stop();
    proxy.repair();
    await renewal;
  },
);

it('counts from before the renewal was asked for, and tells when it is held again', async () => {
  const { lease, moved } = await open();
  const regained = vi.fn();
  lease.onRegained(regained);
  moved.uptimeMs += LEASE_MS;
  await lease.renew();
  expect(lease.isHeld()).toBe(true);
  expect(regained).toHaveBeenCalledTimes(1);
  await lease.renew();
  expect(regained).toHaveBeenCalledTimes(1);
});

it('ends for good when the machine was declared lost', async () => {
  const { store, id, epoch, lease, onEnded } = await open();
  await store.transact(async (tx) => {
    await tx.machines.release(id, epoch);
    expect(await tx.machines.declareLost(id)).toBe(true);
  });
  await lease.renew();
  await lease.renew();
  expect(lease.isHeld()).toBe(false);
  expect(onEnded).toHaveBeenCalledTimes(1);
  expect(await store.read.machines.find(id)).toMatchObject({ state: 'lost', epoch: epoch + 1 });
});

it('that has ended makes writes wait like a full disk, so that no process is ended for it', () => {
  expect(isStorageFailure(new OperationalError('lease_lost', 'gone'))).toBe(true);
  expect(isStorageFailure(new OperationalError('machine_unreachable', 'away'))).toBe(false);
});
