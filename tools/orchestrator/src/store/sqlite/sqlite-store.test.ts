import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, sampleStage, silent, tickingPlatform } from '../../../test/support/test-store.ts';
import { openSqliteStore } from './sqlite-store.ts';

it('returns a written session without reading it, and none that was rolled back or removed', async () => {
  const session = await busyTestSession({}, await openTestStore(undefined, 'SQLite'));
  const { store, stageId: id } = session;
  const before = await session.record();
  const failing = store.transact(async (tx) => {
    await tx.sessions.save({ ...before, mode: 'plan' });
    expect(await tx.sessions.find(id)).toMatchObject({ mode: 'plan' });
    expect(await store.read.sessions.find(id)).toBe(before);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await store.read.sessions.find(id)).toBe(before);
  const saved = { ...before, mode: 'plan' };
  await store.transact((tx) => tx.sessions.save(saved));
  expect(await store.read.sessions.find(id)).toBe(saved);
  expect(await store.read.sessions.list()).toEqual([saved]);
  await store.transact((tx) => tx.stages.remove(id));
  expect(await store.read.sessions.find(id)).toBeNull();
  await store.transact(async (tx) => {
    await tx.stages.insert(sampleStage({ id }));
    expect(await tx.sessions.find(id)).toBeNull();
  });
});

it('refuses a database that a newer Callboard wrote, and leaves it unchanged', async () => {
  const file = join(await temporaryFolder(), 'store.sqlite');
  await (await openSqliteStore(file, tickingPlatform(), silent)).close();
  const raw = new DatabaseSync(file);
  raw.exec('pragma user_version = 9999');
  raw.close();
  const refusal = { code: 'database_newer', kind: 'operational', message: expect.stringContaining('9999') };
  await expect(openSqliteStore(file, tickingPlatform(), silent)).rejects.toMatchObject(refusal);
  const again = new DatabaseSync(file, { readOnly: true });
  expect(again.prepare('pragma user_version').get()).toEqual({ user_version: 9999 });
  again.close();
});
