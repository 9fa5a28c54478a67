import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { expect, it, onTestFinished } from 'vitest';
import { createDatabaseOn, giveToServer, postgresLack, runSql, startPostgres } from '../../../test-support/postgres.ts';
import { until } from '../../../test-support/until.ts';
import type { Store } from '../../orchestrator/src/store/store.ts';
import { canMount, mountSmallDisk } from '../../orchestrator/test/support/small-disk.ts';
import { sampleProject, silent, stageId, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { createConnect, type PgLink } from './pg-link.ts';
import { openPostgresStore } from './postgres-store.ts';

const write = (store: Store, index: number) =>
  store.transact((tx) => tx.emit({ type: 'transcript-appended', data: { stageId: stageId('S1'), index } }));
const works = (attempt: () => Promise<unknown>) =>
  attempt().then(
    () => true,
    () => false,
  );

it.skipIf(postgresLack !== '')('says that a server has no connection left, and goes on when it has', async () => {
  const server = await startPostgres(undefined, ['max_connections = 12', 'superuser_reserved_connections = 0']);
  const address = parseDatabaseUrl(await createDatabaseOn(server.address));
  const open = () => openPostgresStore({ address, platform: tickingPlatform(), log: silent });
  const store = await open();
  onTestFinished(store.close);
  await store.transact((tx) => tx.projects.save(sampleProject()));
  const others: PgLink[] = [];
  onTestFinished(() => void Promise.all(others.map((link) => link.end())));
  const connect = createConnect(address);
  await until('it has no connection left', async () => {
    for (;;) {
      const link = await connect().catch(() => null);
      if (link === null) return true;
      others.push(link);
    }
  });
  const text = expect.stringMatching(/no connection left\. Raise its max_connections/);
  await expect(open()).rejects.toMatchObject({ code: 'storage_failed', message: text });
  const reads = await Promise.allSettled(Array.from({ length: 4 }, () => store.read.projects.list()));
  for (const read of reads) if (read.status === 'rejected') expect(read.reason).toMatchObject({ code: '53300' });
  await write(store, 1); // over the connection that it has
  await Promise.all(others.splice(0).map((link) => link.end()));
  await until('it can be opened', () => works(async () => (await open()).close()));
  expect(await store.read.projects.list()).toHaveLength(1);
});

const lack = postgresLack || (canMount ? '' : 'needs root, to mount a small disk');

it.skipIf(lack !== '')(
  `says that the disk of the server is full, loses nothing, and goes on when it is not${lack && ` (${lack})`}`,
  async () => {
    const server = await startPostgres();
    const disk = await mountSmallDisk(64);
    await giveToServer(disk.folder);
    await runSql(server.address, `create tablespace small location '${disk.folder}'`);
    const url = await createDatabaseOn(server.address);
    const address = parseDatabaseUrl(url);
    await runSql(server.address, `alter database ${address.database} set tablespace small`);
    const store = await openPostgresStore({ address, platform: tickingPlatform(), log: silent });
    onTestFinished(store.close);
    const storageErrors: (boolean | undefined)[] = [];
    store.onWrite((storageError) => storageErrors.push(storageError?.isDiskFull));
    let stored = 0;
    await disk.fill();
    let failure: unknown = null;
    await until('a write fails', () =>
      write(store, stored + 1).then(
        () => {
          stored++;
          return false;
        },
        (error: unknown) => {
          failure = error;
          return true;
        },
      ),
    );
    const text = expect.stringMatching(/disk of the database's server is full\. Free some space there/);
    expect(failure).toMatchObject({ code: 'storage_failed', message: text });
    expect(storageErrors.at(-1)).toBe(true);
    await disk.free();
    await until('it writes again', () => works(() => write(store, stored + 1)));
    expect(storageErrors.at(-1)).toBeUndefined();
    const events = await store.read.events.since(0, 10_000);
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: stored + 1 }, (_, at) => at + 1));
  },
);
