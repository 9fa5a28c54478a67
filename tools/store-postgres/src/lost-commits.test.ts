import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDatabaseOn, postgresLack, runSql, startPostgres, startStandby } from '../../../test-support/postgres.ts';
import { until } from '../../../test-support/until.ts';
import { sampleProject, silent, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { openPostgresStore } from './postgres-store.ts';

/** A server that writes what need not be on its disk at once only with what has to be. */
async function openStores(count: number, hasStandby = false) {
  const server = await startPostgres(onTestFinished, ['wal_writer_delay = 10s', 'wal_writer_flush_after = 1GB']);
  const standby = hasStandby ? await startStandby(server, onTestFinished, { waitsFor: '' }) : null;
  const only = parseDatabaseUrl(await createDatabaseOn(server.address));
  const others = standby === null ? [] : [{ host: '127.0.0.1', port: standby.address.port }];
  const address = { ...only, hosts: [...only.hosts, ...others] };
  const open = async () => {
    let lost = 0;
    const onCommitsLost = () => {
      lost += 1;
    };
    const store = await openPostgresStore({ address, platform: tickingPlatform(), log: silent, onCommitsLost });
    onTestFinished(store.close);
    const save = (name: string, sync: 'now' | 'later') =>
      store.transact((tx) => tx.projects.save(sampleProject({ id: name, path: `/${name}` })), { sync });
    const names = async () => (await store.read.projects.list()).map(({ id }) => id);
    return { save, names, lost: () => lost };
  };
  const stores = await Promise.all(Array.from({ length: count }, open));
  const crash = async () => {
    await server.stop('immediate');
    await server.start();
  };
  return { stores, open, crash, server, standby };
}

describe.skipIf(postgresLack !== '')(`a crash of PostgreSQL${postgresLack && ` (${postgresLack})`}`, () => {
  it('stops a process whose unsynced commits are gone, before it stores anything on top of what it remembers', async () => {
    const { stores, open, crash } = await openStores(1);
    const [store] = stores;
    if (store === undefined) throw new Error('no store');
    await store.save('one', 'now');
    await store.save('two', 'later');
    await crash();
    await expect.poll(store.lost).toBeGreaterThan(0);
    await expect(store.save('three', 'now')).rejects.toMatchObject({ code: 'storage_failed' });
    const next = await open();
    expect(await next.names()).toEqual(['one']);
    await next.save('three', 'now');
    expect(next.lost()).toBe(0);
  });

  it('lets a process go on that has lost nothing, whatever others have lost', async () => {
    const { stores, crash } = await openStores(2);
    const [calm, busy] = stores;
    if (calm === undefined || busy === undefined) throw new Error('no stores');
    await calm.save('one', 'now');
    await busy.save('two', 'now');
    await expect.poll(calm.names).toEqual(['one', 'two']);
    await crash();
    await expect
      .poll(() =>
        busy.save('three', 'now').then(
          () => 'stored',
          () => 'refused',
        ),
      )
      .toBe('stored');
    await expect
      .poll(() =>
        calm.save('four', 'now').then(
          () => 'stored',
          () => 'refused',
        ),
      )
      .toBe('stored');
    expect([calm.lost(), busy.lost()]).toEqual([0, 0]);
  });

  it('finds lost commits also after another process has gone on with new numbers, and after two crashes', async () => {
    const { stores, open, crash } = await openStores(1);
    const [store] = stores;
    if (store === undefined) throw new Error('no store');
    await store.save('one', 'now');
    await store.save('two', 'later');
    await crash();
    const other = await open();
    await other.save('three', 'now');
    await crash();
    await expect.poll(store.lost).toBeGreaterThan(0);
    expect(other.lost()).toBe(0);
  });

  it('is noticed, too, where a standby takes over that had not received what was acknowledged', async () => {
    const { stores, open, server, standby } = await openStores(1, true);
    const [store] = stores;
    if (store === undefined || standby === null) throw new Error('no store');
    await store.save('one', 'now');
    const sql = 'select bool_and(flush_lsn = pg_current_wal_insert_lsn()) from pg_stat_replication';
    await until('the standby has everything', async () => (await runSql(server.address, sql)) === 't');
    await standby.stop('fast');
    await store.save('two', 'now'); // which asynchronous replication does not wait for
    await server.kill();
    await standby.start();
    await standby.promote();
    await expect.poll(store.lost).toBeGreaterThan(0);
    await expect(store.save('three', 'now')).rejects.toMatchObject({ code: 'storage_failed' });
    const next = await open();
    expect(await next.names()).toEqual(['one']);
    await next.save('three', 'now');
    expect(next.lost()).toBe(0);
  });
});
