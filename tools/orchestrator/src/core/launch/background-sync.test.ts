import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, silent, tickingPlatform } from '../../../test/support/test-store.ts';
import type { Tx } from '../../store/store.ts';
import { startBackgroundSync } from './session-watches.ts';

/** A session whose spool is a file of the test, and the synced files in order. */
async function syncedSession(failures: Error[] = []) {
  const synced: string[] = [];
  const platform = tickingPlatform();
  const syncFile = async (path: string) => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    await platform.syncFile(path);
    synced.push(path);
  };
  const test = await openTestStore({ ...platform, syncFile });
  const session = await busyTestSession({}, test);
  const launch = await session.store.read.launches.find(session.launchId());
  if (launch === null) throw new Error('no launch');
  const path = join(await temporaryFolder(), 'out.jsonl');
  await writeFile(path, '');
  let readTo = 0;
  const running = () => [{ launch, spool: () => ({ path, readTo }) }];
  const { stop } = startBackgroundSync({ store: session.store, log: silent, everyMs: 5, running });
  onTestFinished(stop);
  const line = async () => {
    await appendFile(path, '{}\n');
    readTo += 3;
    await session.store.transact((tx) => tx.launches.setOffset(launch.id, readTo), { sync: 'later' });
  };
  const said = (tx: Tx) => tx.launches.setOffset(launch.id, readTo);
  /** What the store syncs here: PostgreSQL's files are its server's. */
  const log = test.file === '' ? [] : [`${test.file}-wal`];
  return { store: session.store, synced, line, said, path, log };
}

it('syncs the spool that was read, then the store, and nothing if nothing changed', async () => {
  const { store, synced, line, said, path, log } = await syncedSession();
  await store.transact(said);
  await line();
  await expect.poll(() => synced).toEqual([path, ...log]);
  await store.transact(said, { sync: 'later' }); // the spool has not grown
  await expect.poll(() => synced).toEqual([path, ...log, ...log]);
});

it('retries a failed sync, including the spool', async () => {
  const { synced, line, path, log, store } = await syncedSession([new Error('EIO'), new Error('EIO')]);
  const storageErrors: (string | undefined)[] = [];
  store.onWrite((storageError) => storageErrors.push(storageError?.text));
  await line();
  await expect.poll(() => synced).toEqual([path]); // after a failure, the log is written into the database instead
  expect(storageErrors).toContainEqual(expect.stringContaining('do not reach the disk'));
  await line();
  await expect.poll(() => synced).toEqual([path, path, ...log]);
});
