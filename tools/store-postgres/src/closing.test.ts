import { LaunchId } from '@callboard/contract';
import type { DatabaseAddress } from '@callboard/runtime/database-url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../test-support/postgres.ts';
import { until } from '../../../test-support/until.ts';
import type { CommitOptions } from '../../orchestrator/src/store/store.ts';
import { startCommitCutter } from '../../orchestrator/test/support/commit-cutter.ts';
import { startDatabaseProxy } from '../../orchestrator/test/support/database-proxy.ts';
import { createStoreDatabase } from '../../orchestrator/test/support/test-postgres.ts';
import { silent, stageId, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { createConnect } from './pg-link.ts';
import { openPostgresStore } from './postgres-store.ts';

/** Without the limits of closing, an answer would be waited for 45 s. */
const CLOSES_WITHIN_MS = 20_000;

/** A store behind a proxy that cuts commits, and one beside it that sees what was stored. */
async function openStores<P extends { address: DatabaseAddress }>(startProxy: (target: DatabaseAddress) => Promise<P>) {
  const address = await createStoreDatabase();
  const proxy = await startProxy(address);
  const open = async (to: typeof address) => {
    const store = await openPostgresStore({ address: to, platform: tickingPlatform(), log: silent });
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
  return { store, write, proxy, storedEvents: () => other.read.events.lastSeq() };
}

describe.skipIf(postgresLack !== '')(`closing a shared store${postgresLack && ` (${postgresLack})`}`, () => {
  it.each([
    ['before', 'storage_failed', 0],
    ['after', 7, 1],
  ] as const)('finds out what became of a commit that was cut off %s it was made', async (moment, reported, stored) => {
    const { store, write, proxy, storedEvents } = await openStores(startCommitCutter);
    proxy.cutNext(moment);
    const writing = write(7);
    await store.close();
    expect(await writing).toBe(reported);
    expect(await storedEvents()).toBe(stored);
  });

  it.each([
    ['before', 0],
    ['after', 1],
  ] as const)(
    'says that it is unknown what became of a commit that was cut off %s it was made, if the database cannot be reached any more',
    async (moment, stored) => {
      const { store, write, proxy, storedEvents } = await openStores(startCommitCutter);
      proxy.cutNext(moment, true);
      const writing = write(7);
      await store.close();
      expect(await writing).toBe('no_confirmation');
      await expect.poll(storedEvents).toBe(stored);
    },
  );

  it('says so to all whose work was committed together', async () => {
    const { store, write, proxy, storedEvents } = await openStores(startCommitCutter);
    proxy.cutNext('after', true);
    const writing = Promise.all([1, 2, 3].map((index) => write(index, { batch: true })));
    await store.close();
    expect(await writing).toEqual(Array.from({ length: 3 }, () => 'no_confirmation'));
    await expect.poll(storedEvents).toBe(3);
  });

  it.each([
    ['before it has begun its commit', '', 'storage_failed', 0],
    ['while it commits', 'pg_notify', 'no_confirmation', 1],
  ] as const)(
    'waits for a moment alone if the database hangs during a transaction %s, and says what became of it and of all behind it',
    async (_moment, text, reported, stored) => {
      const { store, write, proxy, storedEvents } = await openStores(startDatabaseProxy);
      const read = await store.read.events.lastSeq();
      if (text === '') proxy.hang();
      else proxy.hangAt(text);
      const writing = [write(7), write(8), write(9)];
      await until('it hangs', proxy.isHanging);
      const reading = Promise.allSettled(Array.from({ length: 5 }, () => store.read.projects.list()));
      const since = performance.now();
      await store.close();
      expect(performance.now() - since).toBeLessThan(CLOSES_WITHIN_MS);
      expect(await Promise.all(writing)).toEqual([reported, 'storage_failed', 'storage_failed']);
      expect((await reading).map(({ status }) => status)).not.toContain('fulfilled');
      await expect.poll(storedEvents).toBe(read + stored);
    },
  );

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
      const store = await openPostgresStore({ address, platform: tickingPlatform(), log: silent });
      await watcher.queryAll('begin; lock table projects in access exclusive mode');
      const reads = Promise.allSettled(Array.from({ length: count }, () => store.read.projects.list()));
      await expect
        .poll(() => ask("select count(*) from pg_locks where not granted and relation = 'projects'::regclass"))
        .toEqual([{ count: 4 }]);
      const closing = store.close();
      if (how === 'ends') await watcher.queryAll('commit');
      await closing;
      const stopping = { code: 'orchestrator_unreachable' };
      const reported = await reads;
      expect(reported.map((read) => read.status)).toEqual(Array.from({ length: count }, () => status));
      for (const read of reported) if (read.status === 'rejected') expect(read.reason).toMatchObject(stopping);
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
