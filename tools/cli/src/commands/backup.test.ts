import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { runHere } from '../../test/run-here.ts';
import type { Platform } from '../platform.ts';
import { acquireSupervisorLock } from '../supervisor/control-socket.ts';

const at = new Date('2026-01-02T03:04:05.678Z');
const noSessions: Partial<Platform> = { now: () => at, endAllSessions: async () => ({ ended: 0, failed: [] }) };

/** The tables of a store that a backup and a restore need. */
function putStore(file: string, stages: number): void {
  const database = new DatabaseSync(file);
  database.exec(`
    create table stages (id text); create table requests (decision text);
    create table events (seq integer primary key autoincrement);
    create table launches (state text, end_reason text);
    insert into requests values ('{}'), (null);
    insert into events values (7);
    insert into launches values ('live', null), ('ended', 'it was stopped');
  `);
  for (let n = 0; n < stages; n += 1) database.prepare('insert into stages values (?)').run(`STAGE-${n}`);
  database.close();
}

async function dataDirWith(stages: number): Promise<string> {
  const dataDir = join(await temporaryFolder(), 'data');
  await mkdir(dataDir);
  putStore(join(dataDir, 'store.sqlite'), stages);
  return dataDir;
}

it('copies the store into the data directory, readable by its owner alone, and restores it', async () => {
  const dataDir = await dataDirWith(3);
  const made = await runHere(['backup', '--data-dir', dataDir], noSessions);
  const file = join(dataDir, 'backup', 'callboard-2026-01-02T03-04-05.678Z.sqlite');
  expect(made.exitCode).toBe(0);
  expect(made.out).toBe(
    `Backed up to ${file}: 3 stages, 1 decision.\nTo restore it: npx callboard restore ${file} --data-dir ${dataDir}`,
  );
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  const store = join(dataDir, 'store.sqlite');
  const restored = await runHere(['restore', file, '--data-dir', dataDir], noSessions);
  const aside = `${store}.before-restore-2026-01-02T03-04-05.678Z`;
  expect(restored).toEqual({
    exitCode: 0,
    out: `Restored ${file} to ${dataDir}: 3 stages, 1 decision.\nThe previous store is kept as ${aside}`,
    err: '',
  });
  expect((await stat(aside)).isFile()).toBe(true);
  using database = new DatabaseSync(store, { readOnly: true });
  expect(database.prepare('select end_reason from launches order by state').all()).toEqual([
    { end_reason: 'it was stopped' },
    { end_reason: 'restored from a backup' },
  ]);
  // No event number is reused that somebody may have seen since the backup.
  expect(database.prepare('select seq from sqlite_sequence').get()).toEqual({ seq: 1_000_000_007 });
  expect(database.prepare('select seq from events').all()).toEqual([]);
});

it("resolves the file against the user's folder, and never overwrites one", async () => {
  const dataDir = await dataDirWith(1);
  const cwd = await temporaryFolder();
  const args = ['backup', 'one.sqlite', '--data-dir', dataDir];
  expect(await runHere(args, { ...noSessions, cwd })).toMatchObject({ exitCode: 0 });
  const again = await runHere(args, { ...noSessions, cwd });
  expect(again).toMatchObject({ exitCode: 1, out: '' });
  expect(again.err).toContain(`nothing was written: ${join(cwd, 'one.sqlite')} already exists`);
});

it('restores into an empty place, as after the loss of a disk', async () => {
  const folder = await temporaryFolder();
  putStore(join(folder, 'one.sqlite'), 2);
  const result = await runHere(['restore', join(folder, 'one.sqlite'), '--data-dir', join(folder, 'new')], noSessions);
  expect(result).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining('2 stages, 1 decision.\nThere was no data'),
  });
});

it('refuses to back up without a store', async () => {
  const dataDir = join(await temporaryFolder(), 'none');
  const result = await runHere(['backup', '--data-dir', dataDir], noSessions);
  expect(result).toMatchObject({ exitCode: 1, err: expect.stringContaining('there is nothing to back up') });
});

it('says why a backup cannot be written', async () => {
  const dataDir = await dataDirWith(1);
  await writeFile(join(dataDir, 'file'), '');
  const result = await runHere(['backup', join(dataDir, 'file', 'one.sqlite'), '--data-dir', dataDir], noSessions);
  expect(result).toMatchObject({ exitCode: 1, err: expect.stringContaining('cannot be written there') });
});

it('refuses to restore a missing file, a folder or another file, and changes nothing', async () => {
  const dataDir = await dataDirWith(1);
  const before = await readFile(join(dataDir, 'store.sqlite'));
  const text = join(dataDir, 'text');
  await writeFile(text, 'this is no database');
  const restore = (...file: string[]) =>
    runHere(['restore', ...file, '--data-dir', dataDir], {
      endAllSessions: () => Promise.reject(new Error('nothing may be ended')),
    });
  expect(await restore()).toMatchObject({ exitCode: 2, err: expect.stringContaining('callboard restore FILE') });
  expect(await restore(join(dataDir, 'none'))).toMatchObject({ exitCode: 2, err: expect.stringContaining('no file') });
  expect(await restore(dataDir)).toMatchObject({ exitCode: 2, err: expect.stringContaining('is not a file') });
  expect(await restore(text)).toMatchObject({ exitCode: 1, err: expect.stringContaining('is not an intact backup') });
  expect(await restore(text, text)).toMatchObject({ exitCode: 2, err: expect.stringContaining('unexpected argument') });
  expect(await readFile(join(dataDir, 'store.sqlite'))).toEqual(before);
  expect((await readdir(dataDir)).sort()).toEqual(['store.sqlite', 'text']);
});

it('refuses to restore while Callboard runs', async () => {
  const dataDir = await dataDirWith(1);
  const file = join(dataDir, 'one.sqlite');
  putStore(file, 2);
  const lock = await acquireSupervisorLock(dataDir, 0, at);
  const result = await runHere(['restore', file, '--data-dir', dataDir], noSessions);
  await lock.release();
  expect(result.exitCode).toBe(1);
  expect(result.err).toContain(`process ${process.pid}); nothing was changed.`);
  expect(result.err).toContain(`npx callboard down --data-dir ${dataDir}`);
});

it('restores nothing if sessions cannot be ended', async () => {
  const dataDir = await dataDirWith(1);
  const file = join(dataDir, 'one.sqlite');
  putStore(file, 2);
  const endAllSessions = async () => ({ ended: 0, failed: ['STAGE-4'] });
  const result = await runHere(['restore', file, '--data-dir', dataDir], { ...noSessions, endAllSessions });
  expect(result).toMatchObject({ exitCode: 1, err: expect.stringContaining('STAGE-4') });
});

it('replaces a store that can no longer be read', async () => {
  const dataDir = await dataDirWith(1);
  const file = join(dataDir, 'one.sqlite');
  putStore(file, 2);
  const endAllSessions = () => Promise.reject(new Error('file is not a database'));
  const result = await runHere(['restore', file, '--data-dir', dataDir], { ...noSessions, endAllSessions });
  expect(result).toMatchObject({ exitCode: 0, err: expect.stringContaining('its sessions were not ended') });
});

it('refuses to restore beside a shared store, before any session is ended', async () => {
  const dataDir = await dataDirWith(1);
  const { out } = await runHere(['backup', '--data-dir', dataDir], noSessions);
  const [, file = ''] = /^Backed up to (\S+):/.exec(out) ?? [];
  const location = { store: 'postgres', name: 'db.example:5432/board', since: at.toISOString() };
  await writeFile(join(dataDir, 'store.json'), JSON.stringify(location));
  const endAllSessions = () => Promise.reject(new Error('it ended sessions'));
  const refused = await runHere(['restore', file, '--data-dir', dataDir], { ...noSessions, endAllSessions });
  expect(refused.exitCode).toBe(1);
  expect(refused.err).toMatch(
    /nothing was changed: The store of .* db\.example:5432\/board.* into a new data directory/,
  );
});
