import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../../../test-support/free-port.ts';
import { createDatabase, postgresLack } from '../../../../test-support/postgres.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { bringUpToDate } from '../../../store-postgres/src/copy-to-file.ts';
import { runHere } from '../../test/run-here.ts';
import { acquireSupervisorLock } from '../supervisor/control-socket.ts';

/** A data directory with a store that holds one row, of a table that the oldest Callboard had. */
async function newDataDir(): Promise<string> {
  const dataDir = join(await temporaryFolder(), 'data');
  await mkdir(dataDir);
  const file = join(dataDir, 'store.sqlite');
  await bringUpToDate(file);
  const database = new DatabaseSync(file);
  database.exec(`insert into holds (scope, document) values ('all', '{}')`);
  database.close();
  return dataDir;
}

const move = (dataDir: string, url: string | null, ...args: string[]) =>
  runHere(['migrate-store', '--data-dir', dataDir, ...args], {
    env: url === null ? {} : { CALLBOARD_DATABASE_URL: url },
  });

const GONE = 'postgres://ann:hush@127.0.0.1:1/board';

it.each([
  [[], GONE, /needs to know where: --to postgres or --to sqlite/],
  [['--to', 'mysql'], GONE, /--to: is either postgres or sqlite/],
  [
    ['--to', 'postgres'],
    null,
    /the URL of the database is missing\. Put it into CALLBOARD_DATABASE_URL, .*database-url/,
  ],
  [['--to', 'postgres', GONE], null, /the command line holds the URL of a database/],
])('says what is missing or wrong: %j', async (args, url, text) => {
  const result = await move(await newDataDir(), url, ...args);
  expect(result).toMatchObject({ exitCode: 2, err: expect.stringMatching(text) });
  expect(result.err).not.toContain('hush');
});

it('moves nothing while Callboard runs, or without data, or to a database that is gone', async () => {
  const dataDir = await newDataDir();
  const lock = await acquireSupervisorLock(dataDir, 0, new Date());
  const running = await move(dataDir, GONE, '--to', 'postgres');
  await lock.release();
  expect(running).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining('nothing was changed. Stop it first: kill'),
  });
  const url = `postgres://ann:hush@127.0.0.1:${await freePort()}/board`;
  const gone = await move(dataDir, url, '--to', 'postgres');
  expect(gone).toMatchObject({
    exitCode: 1,
    err: expect.stringMatching(/could not be moved: the database cannot be reached .* Nothing was changed\./),
  });
  expect(gone.err).not.toContain('hush');
  const empty = await move(join(dataDir, 'nowhere'), url, '--to', 'postgres');
  expect(empty).toMatchObject({ exitCode: 1, err: expect.stringContaining('nothing was moved: ') });
});

describe.skipIf(postgresLack !== '')(`with a database${postgresLack && ` (${postgresLack})`}`, () => {
  it('moves a store there and back, and says what to do next', async () => {
    const dataDir = await newDataDir();
    const url = await createDatabase();
    const there = await move(dataDir, url, '--to', 'postgres');
    expect(there).toMatchObject({ exitCode: 0, err: '' });
    const { host, pathname } = new URL(url);
    expect(there.out).toMatch(
      new RegExp(
        `^Moved the store of ${dataDir} to ${host}${pathname}: \\d+ rows of \\d+ tables, each read back and compared\\.`,
      ),
    );
    expect(there.out).toContain(`CALLBOARD_DATABASE_URL=... npx callboard start --data-dir ${dataDir}`);
    expect(there.out).not.toContain(new URL(url).password);

    const again = await move(dataDir, url, '--to', 'postgres');
    expect(again).toMatchObject({ exitCode: 1, err: expect.stringContaining('is a PostgreSQL database already') });
    const full = await move(await newDataDir(), await createDatabase(), '--to', 'sqlite');
    expect(full).toMatchObject({ exitCode: 1, err: expect.stringContaining('holds no data of Callboard') });
    await rename(join(dataDir, 'store.sqlite'), join(dataDir, 'store.sqlite.before'));
    await writeFile(join(dataDir, 'store.sqlite-wal'), 'changes of the other store');
    const orphan = await move(dataDir, url, '--to', 'sqlite');
    expect(orphan).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('belongs to a store that was moved aside'),
    });
    await writeFile(join(dataDir, 'store.sqlite-wal'), '');
    await writeFile(join(dataDir, 'search.sqlite'), 'of another store');
    const back = await move(dataDir, url, '--to', 'sqlite');
    expect(back).toMatchObject({ exitCode: 0, err: '' });
    expect(back.out).toContain(`to ${join(dataDir, 'store.sqlite')}: `);
    expect(back.out).toContain(`Start without the URL: npx callboard start --data-dir ${dataDir}`);
    const files = await readdir(dataDir);
    expect(files.filter((name) => /^(store|search)/.test(name))).toEqual(['store.sqlite', 'store.sqlite.before']);
    using database = new DatabaseSync(join(dataDir, 'store.sqlite'), { readOnly: true });
    expect(database.prepare('select scope from holds').all()).toEqual([{ scope: 'all' }]);
  });
});
