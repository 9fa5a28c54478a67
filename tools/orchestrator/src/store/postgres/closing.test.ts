import { LaunchId } from '@callboard/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../../../test-support/postgres.ts';
import { startCommitCutter } from '../../../test/support/commit-cutter.ts';
import { createStoreDatabase } from '../../../test/support/test-postgres.ts';
import { silent, stageId, tickingEdges } from '../../../test/support/test-store.ts';
import type { CommitOptions } from '../store.ts';
import { createConnect } from './pg-link.ts';
import { openPostgresStore } from './postgres-store.ts';

/** A store behind a proxy that cuts commits, and one beside it that sees what was stored. */
async function openStores() {
  const address = await createStoreDatabase();
  const proxy = await startCommitCutter(address);
  const open = async (to: typeof address) => {
    const store = await openPostgresStore({ address: to, edges: tickingEdges(), log: silent });
    onTestFinished(store.close);
    return store;
  };
  const other = await open(address);
  const store = await open(proxy.address);
  const write = (index: number, options?: CommitOptions) =>
    store
      .transact(async (tx) => {
        await tx.emit({ type: 'transcript-appended', data: { stageId: stageId('S1'), index } });
        return index;
      }, options)
      .catch((error: { code: string }) => error.code);
  return { store, write, cutNext: proxy.cutNext, storedEvents: () => other.read.events.lastSeq() };
}

describe.skipIf(postgresLack !== '')(`closing a shared store${postgresLack && ` (${postgresLack})`}`, () => {
  it.each([
    ['before', 'storage_failed', 0],
    ['after', 7, 1],
  ] as const)('finds out what became of a commit that was cut off %s it was made', async (moment, told, stored) => {
    const { store, write, cutNext, storedEvents } = await openStores();
    cutNext(moment);
    const writing = write(7);
    await store.close();
    expect(await writing).toBe(told);
    expect(await storedEvents()).toBe(stored);
  });

  it.each([
    ['before', 0],
    ['after', 1],
  ] as const)(
    'says that it is unknown what became of a commit that was cut off %s it was made, if the database cannot be reached any more',
    async (moment, stored) => {
      const { store, write, cutNext, storedEvents } = await openStores();
      cutNext(moment, true);
      const writing = write(7);
      await store.close();
      expect(await writing).toBe('no_confirmation');
      await expect.poll(storedEvents).toBe(stored);
    },
  );

  it('says so to all whose work was committed together', async () => {
    const { store, write, cutNext, storedEvents } = await openStores();
    cutNext('after', true);
    const writing = Promise.all([1, 2, 3].map((index) => write(index, { together: true })));
    await store.close();
    expect(await writing).toEqual(Array.from({ length: 3 }, () => 'no_confirmation'));
    await expect.poll(storedEvents).toBe(3);
  });

  it.each([
    ['ends', 4, 'fulfilled'],
    ['does not end', 6, 'rejected'],
  ] as const)(
    'waits a moment for a read that %s, refuses all later ones, and leaves no connection',
    async (how, count, status) => {
      const address = await createStoreDatabase();
      const watcher = await createConnect(address)();
      onTestFinished(watcher.end);
      const ask = async (text: string) => (await watcher.query({ text })).rows;
      const store = await openPostgresStore({ address, edges: tickingEdges(), log: silent });
      await watcher.queryAll('begin; lock table projects in access exclusive mode');
      const reads = Promise.allSettled(Array.from({ length: count }, () => store.read.projects.list()));
      await expect
        .poll(() => ask("select count(*) from pg_locks where not granted and relation = 'projects'::regclass"))
        .toEqual([{ count: 4 }]);
      const closing = store.close();
      if (how === 'ends') await watcher.queryAll('commit');
      await closing;
      const stopping = { code: 'orchestrator_unreachable' };
      const told = await reads;
      expect(told.map((read) => read.status)).toEqual(Array.from({ length: count }, () => status));
      for (const read of told) if (read.status === 'rejected') expect(read.reason).toMatchObject(stopping);
      await expect(store.read.projects.list()).rejects.toMatchObject(stopping);
      await expect(store.board()).rejects.toMatchObject(stopping);
      await expect(store.read.outbox.listOf(LaunchId.parse('L1'), [])).rejects.toMatchObject(stopping);
      if (how !== 'ends') await watcher.queryAll('rollback');
      const others = `select count(*) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;
      await expect.poll(() => ask(others)).toEqual([{ count: 0 }]);
    },
  );
});
