import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished, vi } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, sampleProject, silent, tickingPlatform } from '../../../test/support/test-store.ts';
import type { Platform } from '../../platform/runtime.ts';
import { textMessage } from '../records.ts';
import type { StorageError } from '../storage-error.ts';
import type { Tx } from '../store.ts';
import { openSqliteStore } from './sqlite-store.ts';

/** Edges that count the syncs of files, and fail them when the disk fails. */
function watchedPlatform() {
  const synced: string[] = [];
  const disk = { error: null as Error | null };
  const ticking = tickingPlatform();
  const platform: Platform = {
    ...ticking,
    syncFile: async (path) => {
      if (disk.error !== null) throw disk.error;
      await ticking.syncFile(path);
      synced.push(path);
    },
  };
  return { platform, synced, disk };
}

const ioError = () => Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
const rename = (name: string) => (tx: Tx) => tx.projects.save(sampleProject({ name }));

it('lets SQLite sync each commit with sync "now", and none with "later"', async () => {
  const pragma = vi.spyOn(DatabaseSync.prototype, 'exec');
  onTestFinished(() => pragma.mockRestore());
  const { store } = await openTestStore();
  pragma.mockClear();
  await store.transact(rename('said'));
  await store.transact(rename('printed'), { sync: 'later' });
  await store.transact(rename('printed again'), { sync: 'later' });
  await store.transact(rename('said again'));
  await store.transact(rename('and again'), { sync: 'now' });
  expect(pragma.mock.calls.flat()).toEqual(['pragma synchronous = normal', 'pragma synchronous = full']);
});

it('syncs unsynced commits once, after the files that they were read from', async () => {
  const { platform, synced } = watchedPlatform();
  const { store, file } = await openTestStore(platform);
  const unsynced = vi.fn();
  store.onUnsynced(unsynced);
  await store.sync();
  await store.transact(rename('said'));
  await store.sync();
  expect([synced, unsynced.mock.calls.length]).toEqual([[], 0]);
  await store.transact(rename('printed'), { sync: 'later' });
  await store.transact(rename('printed again'), { sync: 'later' });
  expect([synced, unsynced.mock.calls.length]).toEqual([[], 2]);
  await store.sync([file, '/there/is/no/such/spool']);
  expect(synced).toEqual([file, `${file}-wal`]);
  await store.sync();
  expect(synced).toHaveLength(2);
});

it('syncs a "later" commit before its events and lines go out if the transaction asked for it', async () => {
  const { platform, synced } = watchedPlatform();
  const session = await busyTestSession({}, await openTestStore(platform));
  const { store, file, stageId } = session;
  const heard: string[][] = [];
  store.onEvent(() => heard.push([...synced]));
  store.onGiven(session.launchId(), () => heard.push([...synced]));
  const work = async (tx: Tx) => {
    tx.syncFirst();
    const row = { id: tx.newId(), stageId, launchId: session.launchId(), wireId: tx.newWireId(), actor: null };
    await tx.outbox.insert({ ...row, body: textMessage('next phase'), createdAt: tx.now });
    await tx.emit({ type: 'transcript-appended', data: { stageId, index: 1 } });
  };
  await store.transact(work, { sync: 'later' });
  expect(heard).toEqual([[`${file}-wal`], [`${file}-wal`]]);
});

it('does not count a commit made during a sync as synced', async () => {
  const { platform, synced } = watchedPlatform();
  const during = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { syncFile } = platform;
  let isFirst = true;
  platform.syncFile = async (path) => {
    if (isFirst) {
      isFirst = false;
      begun.resolve();
      await during.promise;
    }
    await syncFile(path);
  };
  const { store, file } = await openTestStore(platform);
  await store.transact(rename('printed'), { sync: 'later' });
  const sync = store.sync();
  await begun.promise;
  await store.transact(rename('printed meanwhile'), { sync: 'later' });
  during.resolve();
  await sync;
  await store.sync();
  expect(synced).toEqual([`${file}-wal`, `${file}-wal`]);
});

it('treats a missing log as a failed sync', async () => {
  const { store, file } = await openTestStore();
  await store.transact(rename('printed'), { sync: 'later' });
  await rm(`${file}-wal`);
  await expect(store.sync()).rejects.toMatchObject({ code: 'storage_failed' });
});

it('reports a failed sync like a failed write, and distrusts the log until all commits are in the database', async () => {
  const { platform, synced, disk } = watchedPlatform();
  const { store, file } = await openTestStore(platform);
  const storageErrors: (StorageError | null)[] = [];
  store.onWrite((storageError) => storageErrors.push(storageError));
  await store.transact(rename('printed'), { sync: 'later' });
  disk.error = ioError();
  const failure = { code: 'storage_failed', message: expect.stringContaining('do not reach the disk (EIO') };
  await expect(store.sync()).rejects.toMatchObject(failure);
  // A "later" commit succeeds anyway, and does not prove that the disk works again.
  await store.transact(rename('printed again'), { sync: 'later' });
  expect(storageErrors).toEqual([null, expect.objectContaining({ isDiskFull: false })]);
  disk.error = null;
  await store.probe();
  expect(storageErrors.at(-1)).toBeNull();
  expect(projectIn(file)).toBe('printed again');
  expect(synced).toEqual([]);
  await store.transact(rename('printed at last'), { sync: 'later' });
  await store.sync();
  expect(synced).toEqual([`${file}-wal`]);
});

it('reports a full disk as the cause of a failed sync, and retries', async () => {
  const { platform, disk } = watchedPlatform();
  const { store, file } = await openTestStore(platform);
  await store.transact(rename('printed'), { sync: 'later' });
  disk.error = Object.assign(new Error('no space'), { code: 'ENOSPC' });
  await expect(store.sync()).rejects.toMatchObject({
    message: expect.stringContaining('the disk of the data directory is full'),
  });
  disk.error = null;
  await store.sync();
  expect(projectIn(file)).toBe('printed');
});

/** Reads the database file without its log. */
function projectIn(file: string): unknown {
  const database = new DatabaseSync(`file:${file}?immutable=1`, { readOnly: true });
  try {
    return database.prepare('select name from projects').get()?.name;
  } finally {
    database.close();
  }
}

it('reuses no number of an earlier boot, and returns no page of events from one', async () => {
  const file = join(await temporaryFolder(), 'store.sqlite');
  const seqs: number[] = [];
  async function liveThrough(bootId: string | null, count: number): Promise<number> {
    const store = await openSqliteStore(file, { ...tickingPlatform(), bootId: async () => bootId }, silent);
    const before = await store.read.events.lastSeq();
    store.onEvent(({ seq }) => seqs.push(seq));
    await store.transact(async (tx) => {
      for (let n = 0; n < count; n++)
        await tx.emit({ type: 'project-removed', data: { projectId: sampleProject().id } });
    });
    await store.close();
    return before;
  }
  expect(await liveThrough('first', 3)).toBe(0);
  expect(await liveThrough('first', 2)).toBe(3);
  const before = await liveThrough('second', 2);
  expect(before).toBeGreaterThan(1_000_000);
  expect(await liveThrough('second', 1)).toBe(before + 2);
  expect(await liveThrough(null, 0)).toBeGreaterThan(before + 1_000_000);
  expect(await liveThrough(null, 0)).toBeGreaterThan(before + 2_000_000_000);
  expect(new Set(seqs).size).toBe(8);
  const store = await openSqliteStore(file, { ...tickingPlatform(), bootId: async () => 'third' }, silent);
  onTestFinished(store.close);
  expect(await store.read.events.since(0, 100)).toEqual([]);
});
