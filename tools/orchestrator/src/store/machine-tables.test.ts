import { ProjectId } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { postgresLack } from '../../../../test-support/postgres.ts';
import { machineId, machineReport } from '../../test/support/test-machines.ts';
import { openTestStore, sampleProject } from '../../test/support/test-store.ts';
import type { Store } from './store.ts';

const LACKS = { SQLite: '', PostgreSQL: postgresLack };
const [DESK, ATTIC, CELLAR] = [machineId(1), machineId(2), machineId(3)];
const SHOP = ProjectId.parse(sampleProject().id);
const DOCS = ProjectId.parse('docs');

const register = (store: Store, id = ATTIC, name = 'attic') =>
  store.transact((tx) => tx.machines.register(id, machineReport({ name }), 60_000));

/** The machine stops in order, so that its lease has run out, and is declared lost. */
async function lose(store: Store, epoch: number): Promise<void> {
  await store.transact((tx) => tx.machines.release(ATTIC, epoch));
  expect(await store.transact((tx) => tx.machines.declareLost(ATTIC))).toBe(true);
}

const remove = (store: Store) => store.transact((tx) => tx.machines.remove(ATTIC));
const namesIn = async (store: Store) => (await store.read.machines.list()).map(({ name }) => name);

describe.each(['SQLite', 'PostgreSQL'] as const)('a machine on %s', (kind) => {
  const test = it.skipIf(LACKS[kind] !== '');

  async function open() {
    const { store } = await openTestStore(undefined, kind);
    await register(store, DESK, 'desk');
    return { store, epoch: await register(store) };
  }

  test('is removed once, and only after it was declared lost', async () => {
    const { store, epoch } = await open();
    expect(await remove(store)).toBe(false); // it answers
    await store.transact((tx) => tx.machines.release(ATTIC, epoch));
    await store.transact((tx) => tx.machines.noteUnreachable());
    expect(await remove(store)).toBe(false); // it is unreachable
    expect(await store.read.machines.find(ATTIC)).toMatchObject({ state: 'unreachable' });
    await lose(store, epoch);
    expect(await namesIn(store)).toEqual(['desk', 'attic']);
    expect(await remove(store)).toBe(true);
    expect(await namesIn(store)).toEqual(['desk']);
    expect(await store.read.machines.find(ATTIC)).toBeNull();
    expect(await remove(store)).toBe(false);
    expect(await store.transact((tx) => tx.machines.remove(machineId(9)))).toBe(false);
  });

  test('is declared lost only if it was not seen for as long as is asked, and says how long it was not', async () => {
    const { store, epoch } = await open();
    const report = machineReport({ name: 'attic', endsSessionsAfterMs: 1_000 });
    await store.transact((tx) => tx.machines.renew({ id: ATTIC, epoch, leaseMs: 60_000 }, report));
    expect(await store.read.machines.find(ATTIC)).toMatchObject({ endsSessionsAfterMs: 1_000 });
    await store.transact((tx) => tx.machines.release(ATTIC, epoch));
    expect(await store.read.machines.find(ATTIC)).toMatchObject({ endsSessionsAfterMs: null, isConnected: false });
    expect(await store.transact((tx) => tx.machines.declareLost(ATTIC, 60_000))).toBe(false);
    await expect.poll(async () => (await store.read.machines.find(ATTIC))?.silentMs).toBeGreaterThan(20);
    expect(await store.transact((tx) => tx.machines.declareLost(ATTIC, 20))).toBe(true);
  });

  test('that was removed is known to have been lost until it has kept what was its own, and is listed again when it is back', async () => {
    const { store, epoch } = await open();
    expect(await store.read.machines.wasLost(ATTIC)).toBe(false);
    expect(await store.read.machines.wasLost(machineId(9))).toBe(false);
    await lose(store, epoch);
    expect(await store.read.machines.wasLost(ATTIC)).toBe(true);
    await remove(store);
    expect(await store.read.machines.wasLost(ATTIC)).toBe(true);
    const old = { id: ATTIC, epoch: epoch + 1, leaseMs: 60_000 };
    expect(await store.transact((tx) => tx.machines.renew(old, machineReport()))).toBe(false);
    expect(await register(store)).toBe(epoch + 2);
    expect(await namesIn(store)).toEqual(['desk', 'attic']);
    expect(await store.read.machines.find(ATTIC)).toMatchObject({ state: 'connected', isConnected: true });
    // Killed before it had kept everything, it begins again.
    expect(await store.read.machines.wasLost(ATTIC)).toBe(true);
    expect(await register(store)).toBe(epoch + 3);
    await store.transact((tx) => tx.machines.savedOrphanedWork(ATTIC, epoch + 2));
    expect(await store.read.machines.wasLost(ATTIC)).toBe(true);
    await store.transact((tx) => tx.machines.savedOrphanedWork(ATTIC, epoch + 3));
    expect(await store.read.machines.wasLost(ATTIC)).toBe(false);
    expect(await remove(store)).toBe(false);
  });

  test('that was removed has no places any more, but a project that is nowhere else is still known by its own', async () => {
    const { store, epoch } = await open();
    const place = (projectId: ProjectId, id: typeof DESK) => ({
      projectId,
      machineId: id,
      path: `/home/${projectId}`,
      remote: `example.org/${projectId}`,
    });
    await store.transact(async (tx) => {
      for (const id of [SHOP, DOCS]) await tx.projects.save(sampleProject({ id, path: `/home/${id}` }));
      for (const one of [place(SHOP, DESK), place(SHOP, ATTIC), place(DOCS, ATTIC)])
        await tx.projectLocations.save(one);
    });
    await lose(store, epoch);
    await remove(store);
    await store.transact((tx) => tx.projectLocations.removeOf(ATTIC));
    expect(await store.read.projectLocations.list()).toEqual([place(DOCS, ATTIC), place(SHOP, DESK)]);
    await register(store, CELLAR, 'cellar');
    await store.transact((tx) => tx.projectLocations.save(place(SHOP, CELLAR)));
    expect(await store.read.projectLocations.list()).toEqual([
      place(DOCS, ATTIC),
      ...[place(SHOP, DESK), place(SHOP, CELLAR)],
    ]);
    await store.transact((tx) => tx.projectLocations.save(place(DOCS, CELLAR))); // its repository is somewhere again
    expect((await store.read.projectLocations.list()).filter(({ projectId }) => projectId === DOCS)).toEqual([
      place(DOCS, CELLAR),
    ]);
  });
});
