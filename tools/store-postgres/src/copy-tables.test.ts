import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDatabase, postgresLack } from '../../../test-support/postgres.ts';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { openSqliteStore } from '../../orchestrator/src/store/sqlite/sqlite-store.ts';
import { fillTables } from '../../orchestrator/test/support/fill-tables.ts';
import { silent, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { copyTables, isEmpty, pauseSame } from './copy-to-file.ts';
import { openForCopy } from './open-for-copy.ts';
import { openSqliteCopy } from './sqlite-copy.ts';

const nothing = () => undefined;

/** A new store's file. */
async function newFile(): Promise<string> {
  const file = join(await temporaryFolder(), 'store.sqlite');
  await (await openSqliteStore(file, tickingPlatform(), silent)).close();
  return file;
}

function open(file: string, readOnly: boolean) {
  const copy = openSqliteCopy(file, { readOnly });
  onTestFinished(copy.close);
  return copy;
}

async function openDatabase() {
  const postgres = await openForCopy(await createDatabase(), { id: 'here', historyFile: '/nowhere' });
  onTestFinished(postgres.close);
  return postgres;
}

describe.skipIf(postgresLack !== '')(`a copy of all tables${postgresLack && ` (${postgresLack})`}`, () => {
  it('brings every row to PostgreSQL and back unchanged, and goes on with the numbers', async () => {
    const file = await newFile();
    await fillTables(file);
    const source = open(file, true);
    const postgres = await openDatabase();
    const targetFile = await newFile();
    const target = open(targetFile, false);

    const there = await postgres.inTransaction(async (store) => {
      expect(await isEmpty(store)).toBe(true);
      const copied = await copyTables({ source, target: store }, source.order, nothing);
      expect(await pauseSame(source, store)).toBe(true);
      expect(await isEmpty(store)).toBe(false);
      return copied;
    });
    expect(there.filter(({ rows }) => rows === 0)).toEqual([]);
    const back = await postgres.inTransaction((store) =>
      target.inTransaction(() => copyTables({ source: store, target }, target.order, nothing)),
    );
    expect(back).toEqual(there);
    expect(await target.lastNumbers()).toEqual(await source.lastNumbers());
    const dump = (one: string) => {
      using database = new DatabaseSync(one, { readOnly: true });
      return source.order.map((table) => {
        const statement = database.prepare(`select * from "${table}" order by 1, 2`);
        statement.setReadBigInts(true);
        return statement.all();
      });
    };
    expect(dump(targetFile)).toEqual(dump(file));
  });

  it('gives the next row of each table a number that no row ever had', async () => {
    const file = await newFile();
    const database = new DatabaseSync(file);
    database.exec(`insert into webhooks (id, document) values ('one', '{}'); delete from webhooks;
      insert into events (seq, at, type, data) values (41, '', '', ''); delete from events;`);
    database.close();
    const source = open(file, true);
    const postgres = await openDatabase();
    await postgres.inTransaction((store) => copyTables({ source, target: store }, source.order, nothing));
    const last = await postgres.inTransaction((store) => store.lastNumbers());
    expect(last.get('webhooks')).toBe(1n);
    expect(last.get('events')).toBe(41n);
  });

  it('replaces NUL in bare texts, which PostgreSQL does not store, and still knows its own copy', async () => {
    const file = await newFile();
    const database = new DatabaseSync(file);
    database.prepare('insert into holds (scope, document) values (?, ?)').run('all\0', JSON.stringify({ by: 'A\0da' }));
    database.close();
    const source = open(file, true);
    const postgres = await openDatabase();
    await postgres.inTransaction(async (store) => {
      await copyTables({ source, target: store }, source.order, nothing);
      expect(await pauseSame(source, store)).toBe(true);
      const pauses = (await store.shapes()).find(({ name }) => name === 'holds');
      if (pauses === undefined) throw new Error('no table');
      for await (const rows of store.batches(pauses))
        expect(rows).toEqual([[String.raw`{"by":"A\u0000da"}`, 'all\uFFFD']]);
    });
  });

  it('refuses stores with different tables, and a value that would come back as another one', async () => {
    const odd = await newFile();
    new DatabaseSync(odd).exec('create table unknown (id text)');
    const other = await newFile();
    new DatabaseSync(other).exec(`insert into counters (name, value) values ('x', 'text')`);
    const postgres = await openDatabase();
    const copy = (file: string) => {
      const source = open(file, true);
      return postgres.inTransaction((target) => copyTables({ source, target }, source.order, nothing));
    };
    await expect(copy(odd)).rejects.toMatchObject({
      code: 'copy_failed',
      message: expect.stringContaining('unknown(id'),
    });
    await expect(copy(other)).rejects.toThrow('counters.value holds a string');
    await postgres.inTransaction(async (store) => expect(await isEmpty(store)).toBe(true));
  });

  it('knows two stores that differ in one row', async () => {
    const [one, other] = [await newFile(), await newFile()];
    new DatabaseSync(one).exec(`insert into holds (scope, document) values ('all', '{}')`);
    new DatabaseSync(other).exec(`insert into holds (scope, document) values ('all', '{ }')`);
    expect(await pauseSame(open(one, true), open(other, true))).toBe(false);
    expect(await pauseSame(open(one, true), open(one, true))).toBe(true);
  });

  it('is refused while another machine uses the database', async () => {
    const url = await createDatabase();
    const postgres = await openForCopy(url, { id: 'here', historyFile: '/nowhere' });
    onTestFinished(postgres.close);
    await postgres.inTransaction(async (store) => {
      await store.insert(MACHINES, [['there', 1n, 9_999_999_999_999n, '{"name":"desk two"}', '', '', 'connected']]);
    });
    await expect(postgres.inTransaction(async () => undefined)).rejects.toMatchObject({
      code: 'database_in_use',
      message: expect.stringContaining('desk two'),
    });
  });
});

const text = (name: string) => ({ name, kind: 'text' as const });
const integer = (name: string) => ({ name, kind: 'integer' as const });
const MACHINES = {
  name: 'machines',
  columns: [
    text('id'),
    integer('epoch'),
    integer('lease_until'),
    text('report'),
    text('seen_at'),
    text('since'),
    text('state'),
  ],
};
