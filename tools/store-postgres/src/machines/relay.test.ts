import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDatabaseOn, postgresLack, startPostgres } from '../../../../test-support/postgres.ts';
import { until } from '../../../../test-support/until.ts';
import { nodePlatform } from '../../../orchestrator/src/platform/runtime.ts';
import type { StoredCommand } from '../../../orchestrator/src/store/ports/machine-port.ts';
import type { Store } from '../../../orchestrator/src/store/store.ts';
import { joinTestStore, machineId } from '../../../orchestrator/test/support/test-machines.ts';
import { openTestStore, silent } from '../../../orchestrator/test/support/test-store.ts';
import { openPostgresStore } from '../postgres-store.ts';
import { createRelay } from './relay.ts';

const LOGIN = { actor: { name: 'Ada' }, loginId: 'login-1', device: 'Firefox', kind: 'page' } as const;
const command = (n: number) => ({
  machineId: machineId(n),
  type: 'get_diff',
  fields: { stageId: 'S1' },
  actor: { name: 'Ada' },
  login: LOGIN,
});

function relayOf(store: Store, n: number, { isHeld = (): boolean => true, takeMs = 5_000 } = {}) {
  const times = { takeMs, checkIntervalMs: 10 };
  const relay = createRelay({
    store,
    platform: nodePlatform,
    log: silent,
    here: machineId(n),
    lease: { isHeld },
    times,
  });
  onTestFinished(relay.stop);
  return relay;
}

async function twoMachines() {
  const { store } = await openTestStore();
  await joinTestStore(store, 1);
  await joinTestStore(store, 2);
  return store;
}

describe('a command for another machine', () => {
  it('is executed there once, with who sent it, and its reply comes back', async () => {
    const store = await twoMachines();
    const taken: StoredCommand[] = [];
    relayOf(store, 2).serve(async (one) => {
      taken.push(one);
      return JSON.stringify({ ok: true, data: taken.length });
    });
    const here = relayOf(store, 1);
    expect(await Promise.all([here.send(command(2), 5_000), here.send(command(2), 5_000)])).toHaveLength(2);
    expect(taken).toMatchObject([command(2), command(2)]);
    expect(await store.read.machineCommands.findReply(taken[0]?.id ?? '')).toBeNull(); // forgotten
  });

  it('is refused while the machine is unreachable, naming it and since when, and is never executed', async () => {
    const store = await twoMachines();
    const { seenAt } = await store.transact(async (tx) => {
      await tx.machines.release(machineId(2), 1);
      return (await tx.machines.list())[1] ?? expect.fail();
    });
    const refusal = expect.objectContaining({ code: 'machine_unreachable', message: expect.stringContaining(seenAt) });
    await expect(relayOf(store, 1).send(command(2), 5_000)).rejects.toEqual(refusal);
    expect(await store.read.machineCommands.hasWaiting(machineId(2))).toBe(false);
  });

  it('is taken back from a machine that does not take it in time', async () => {
    const store = await twoMachines();
    const executed: string[] = [];
    const isHeld = { value: false }; // it is not sure of its lease, so it takes nothing
    relayOf(store, 2, { isHeld: () => isHeld.value }).serve(async ({ type }) => {
      executed.push(type);
      return '{"ok":true}';
    });
    const here = relayOf(store, 1, { takeMs: 50 });
    await expect(here.send(command(2), 5_000)).rejects.toMatchObject({ code: 'machine_unreachable' });
    isHeld.value = true;
    await here.send({ ...command(2), type: 'later' }, 5_000);
    expect(executed).toEqual(['later']);
  });

  it('has an unknown outcome if it was taken and nobody replies', async () => {
    const store = await twoMachines();
    relayOf(store, 2).serve(() => new Promise((resolve) => onTestFinished(() => resolve('{"ok":true}'))));
    const here = relayOf(store, 1, { takeMs: 200 });
    await expect(here.send(command(2), 400)).rejects.toMatchObject({ code: 'no_confirmation' });
  });
});

it.skipIf(postgresLack !== '')(
  `waits on for the reply of a machine that has begun while the database is away${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const server = await startPostgres();
    const address = parseDatabaseUrl(await createDatabaseOn(server.address));
    const open = async () => {
      const store = await openPostgresStore({ address, platform: nodePlatform, log: silent });
      onTestFinished(store.close);
      return store;
    };
    const [here, there] = [await open(), await open()];
    for (const n of [1, 2]) await joinTestStore(here, n);
    const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    relayOf(there, 2).serve(() => {
      begun.resolve();
      return done.promise;
    });
    const outcome = relayOf(here, 1, { takeMs: 60_000 })
      .send(command(2), 120_000)
      .catch((error: unknown) => error);
    await begun.promise;
    await server.stop('fast');
    await expect(here.read.machineCommands.hasWaiting(machineId(2))).rejects.toThrow();
    const failed = new Promise((resolve) =>
      onTestFinished(there.onWrite((storageError) => storageError !== null && resolve(null))),
    );
    done.resolve('{"ok":true}'); // which cannot be stored yet
    await failed;
    await server.start();
    expect(await outcome).toBe('{"ok":true}');
  },
);

it('does not look at commands that nobody may take any more', async () => {
  const store = await twoMachines();
  const left = { ...command(2), id: 'left' };
  await store.transact((tx) => tx.machineCommands.insert(left, 60_000));
  expect(await store.read.machineCommands.hasWaiting(machineId(2))).toBe(true);
  await store.transact(async (tx) => {
    await tx.machineCommands.remove(left.id);
    await tx.machineCommands.insert(left, -1);
  });
  expect(await store.read.machineCommands.hasWaiting(machineId(2))).toBe(false);
});

it('ends though what it executes for another machine does not', async () => {
  const store = await twoMachines();
  const begun = Promise.withResolvers<void>();
  const there = relayOf(store, 2);
  there.serve(() => {
    begun.resolve();
    return new Promise((resolve) => onTestFinished(() => resolve('{"ok":true}')));
  });
  const { machineId: _, ...watching } = command(2);
  await relayOf(store, 1).relayToOthers(watching);
  await begun.promise;
  await there.stop();
});

it('tells all other connected machines, and waits for none', async () => {
  const store = await twoMachines();
  await joinTestStore(store, 3);
  await store.transact((tx) => tx.machines.release(machineId(3), 1));
  const reported: string[] = [];
  for (const n of [2, 3])
    relayOf(store, n).serve(async ({ machineId: id }) => {
      reported.push(id);
      return '{"ok":true}';
    });
  const { machineId: _, ...watching } = command(1);
  await relayOf(store, 1).relayToOthers(watching);
  await until('a machine is told', () => reported.length > 0);
  expect(reported).toEqual([machineId(2)]);
});
