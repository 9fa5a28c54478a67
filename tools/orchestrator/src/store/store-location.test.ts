import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { noteOwnStore, noteSharedStore, readStoreLocation, requireStoreHere } from './store-location.ts';

const THEN = new Date('2026-01-02T03:04:05Z');

async function dataDirectory() {
  const dataDir = await temporaryFolder();
  const files = { database: join(dataDir, 'store.sqlite'), storeLocation: join(dataDir, 'store.json') };
  const start = (isShared: boolean) => requireStoreHere(files, { dataDir, isShared });
  return { ...files, start };
}

it('lets a new data directory have either store', async () => {
  const { start } = await dataDirectory();
  await start(false);
  await start(true);
});

it('refuses a database URL beside a store in a file, until that was moved', async () => {
  const { start, database, storeLocation } = await dataDirectory();
  await writeFile(database, '');
  await start(false);
  await expect(start(true)).rejects.toMatchObject({
    code: 'store_elsewhere',
    message: expect.stringContaining('callboard migrate-store --to postgres'),
  });
  await noteSharedStore(storeLocation, 'db.example:5432/board', THEN);
  await start(true);
});

it('refuses to go on with an old file once the store is a database, naming that', async () => {
  const { start, database, storeLocation } = await dataDirectory();
  await writeFile(database, '');
  await noteSharedStore(storeLocation, 'db.example:5432/board', THEN);
  await noteSharedStore(storeLocation, 'db2.example:5432/board', new Date('2026-02-02T00:00:00Z'));
  expect(await readStoreLocation(storeLocation)).toEqual({
    store: 'postgres',
    name: 'db2.example:5432/board',
    since: '2026-01-02T03:04:05.000Z',
  });
  await expect(start(false)).rejects.toMatchObject({
    code: 'store_elsewhere',
    message: expect.stringMatching(
      /has been the PostgreSQL database db2\.example:5432\/board .*CALLBOARD_DATABASE_URL/,
    ),
  });
  await noteOwnStore(storeLocation);
  await start(false);
});

it('guesses nothing from a note that cannot be read', async () => {
  const { start, storeLocation } = await dataDirectory();
  await writeFile(storeLocation, '{"store"');
  for (const isShared of [false, true])
    await expect(start(isShared)).rejects.toMatchObject({ code: 'store_elsewhere' });
});
