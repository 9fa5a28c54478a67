import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { findProgram } from '../../../../scripts/debian.ts';
import { freePort } from '../../../../test-support/free-port.ts';
import { createDatabase, postgresLack, runSql, sharedServer } from '../../../../test-support/postgres.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { nodePlatform } from '../platform.ts';
import { checkStore } from './machine-checks.ts';

const check = (dataDir: string, url: string | null = null) =>
  checkStore({ url, isPiped: false }, dataDir, nodePlatform(process));

it('finds a store in a file, and one that was moved away', async () => {
  const dataDir = await temporaryFolder();
  expect(await check(dataDir)).toEqual({ verdict: 'ok', found: 'a file in the data directory', advice: null });
  const location = { store: 'postgres', name: 'db.example:5432/board', since: '2026-01-02T03:04:05.000Z' };
  await writeFile(join(dataDir, 'store.json'), JSON.stringify(location));
  expect(await check(dataDir)).toMatchObject({
    verdict: 'problem',
    found: expect.stringContaining('has been the PostgreSQL database db.example:5432/board'),
  });
});

it.skipIf(postgresLack !== '')(
  `asks a shared store for its version${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const dataDir = await temporaryFolder();
    const found = await check(dataDir, await createDatabase());
    expect(found).toMatchObject({
      verdict: 'ok',
      found: expect.stringMatching(/^127\.0\.0\.1:\d+\/test_\w+, PostgreSQL \d+/),
    });
  },
);

it('refuses a file that a newer Callboard wrote, as a start does', async () => {
  const dataDir = await temporaryFolder();
  const database = new DatabaseSync(join(dataDir, 'store.sqlite'));
  database.exec('pragma user_version = 36; create table some (id text)');
  expect(await check(dataDir)).toMatchObject({ verdict: 'ok' });
  database.exec('pragma user_version = 9999');
  database.close();
  const text = 'written by a newer Callboard (version 9999,';
  expect(await check(dataDir)).toMatchObject({ verdict: 'problem', found: expect.stringContaining(text) });
  await writeFile(join(dataDir, 'store.sqlite'), 'short');
  expect(await check(dataDir)).toMatchObject({ verdict: 'ok' }); // it is the start that says what is wrong with it
});

it.skipIf(postgresLack !== '')(
  `refuses a shared store that a newer Callboard wrote, as a start does${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const [dataDir, url] = [await temporaryFolder(), await createDatabase()];
    const sql = (text: string) =>
      execFileSync(findProgram('psql') ?? 'psql', ['--no-psqlrc', '--quiet', '--command', text, url]);
    sql('create table cluster_state (id bigint primary key, version bigint); insert into cluster_state values (1, 36)');
    expect(await check(dataDir, url)).toMatchObject({ verdict: 'ok' });
    sql('update cluster_state set version = 9999');
    const text = 'written by a newer Callboard (version 9999,';
    expect(await check(dataDir, url)).toMatchObject({ verdict: 'problem', found: expect.stringContaining(text) });
  },
);

it.skipIf(postgresLack !== '')(
  `refuses an older copy of a shared store, as a start does${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const [dataDir, url] = [await temporaryFolder(), await createDatabase()];
    const sql = `select json_build_object('system', system_identifier::text, 'server', 'db2:5432', 'timeline', 9,
      'database', (select oid::text from pg_database where datname = current_database())) from pg_control_system()`;
    const newest = [JSON.parse(await runSql(await sharedServer(), sql, new URL(url).pathname.slice(1)))];
    await writeFile(join(dataDir, 'database-timelines.json'), JSON.stringify({ newest }));
    const text = 'is an older copy: it is at timeline 1, and this machine has used timeline 9 (at db2:5432).';
    expect(await check(dataDir, url)).toMatchObject({ verdict: 'problem', found: expect.stringContaining(text) });
  },
);

it('says without the password why a shared store cannot be used', async () => {
  const dataDir = await temporaryFolder();
  const gone = await check(dataDir, `postgres://ann:hush@127.0.0.1:${await freePort()}/board`);
  expect(gone).toMatchObject({ verdict: 'problem', found: expect.stringContaining('cannot be reached') });
  expect(JSON.stringify(gone)).not.toContain('hush');
  await writeFile(join(dataDir, 'database-url'), 'postgres://ann:hush@db.example/board', { mode: 0o644 });
  const readable = await check(dataDir);
  expect(readable).toMatchObject({ verdict: 'problem', found: expect.stringContaining('other accounts may read it') });
  expect(JSON.stringify(readable)).not.toContain('hush');
});
