import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDatabase, createDatabaseOn, postgresLack, runSql, startPostgres } from '../test-support/postgres.ts';
import { until } from '../test-support/until.ts';
import { identify } from '../tools/runtime/src/process-identity.ts';

describe.skipIf(postgresLack !== '')(`a temporary PostgreSQL${postgresLack && ` (${postgresLack})`}`, () => {
  it('gives each test a database of its own, copied from another on demand', async () => {
    const ends: (() => void | Promise<void>)[] = [];
    const [one, two] = await Promise.all([createDatabase((end) => void ends.push(end)), createDatabase()]);
    expect(new URL(one).pathname).not.toBe(new URL(two).pathname);

    const server = await startPostgres();
    const first = basename(await createDatabaseOn(server.address));
    await runSql(server.address, 'create table kept as select 7 as number', first);
    const copy = basename(await createDatabaseOn(server.address, (end) => void ends.push(end), first));
    expect(await runSql(server.address, 'select number from kept', copy)).toBe('7');

    for (const end of ends) await end();
    expect(await runSql(server.address, `select count(*) from pg_database where datname = '${copy}'`)).toBe('0');
  });

  it('keeps its port and what was committed over an end by a crash', async () => {
    const server = await startPostgres();
    await runSql(server.address, 'create table kept as select 7 as number');
    await server.stop('immediate');
    await expect(runSql(server.address, 'select 1')).rejects.toThrow();
    await server.start();
    expect(await runSql(server.address, 'select number from kept')).toBe('7');
    await server.stop('fast');
    await server.start();
    expect(await runSql(server.address, 'select number from kept')).toBe('7');
  });

  it('ends with the process that started it, and its folder with the test', async () => {
    const ends: (() => void | Promise<void>)[] = [];
    const { address } = await startPostgres((end) => void ends.push(end));
    for (const end of ends.toReversed()) await end();
    expect(existsSync(address.socketFolder)).toBe(false);

    const support = new URL('../test-support/postgres.ts', import.meta.url);
    const program = `
      const { startPostgres, runSql } = await import('${support}');
      const { address } = await startPostgres(() => undefined);
      const file = await runSql(address, "select pg_read_file('postmaster.pid')");
      process.send({ folder: address.socketFolder, pid: Number(file.split('\\n')[0]) });
      setInterval(() => undefined, 1_000);`;
    const owner = fork('-', { execArgv: ['--input-type=module', '--eval', program], stdio: 'inherit' });
    const [started] = await once(owner, 'message');
    onTestFinished(() => rm(started.folder, { recursive: true }));
    owner.kill('SIGKILL');
    await until('the server is gone', async () => (await identify(started.pid)) === null);
  });
});
