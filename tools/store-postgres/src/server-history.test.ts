import { execFile } from 'node:child_process';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type DatabaseAddress, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findProgram } from '../../../scripts/debian.ts';
import { createDatabaseOn, postgresLack, startPostgres, startStandby } from '../../../test-support/postgres.ts';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { until } from '../../../test-support/until.ts';
import { DatabaseUnreachable } from '../../orchestrator/src/store/storage-error.ts';
import { sampleProject, silent, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { type Connect, createConnect, createServerHistory } from './pg-link.ts';
import { openPostgresStore } from './postgres-store.ts';

const [dumps, restores] = ['pg_dump', 'pg_restore'].map(findProgram);
const lack = postgresLack || (dumps && restores ? '' : 'needs pg_dump and pg_restore');

/** The port of the server that is reached. */
async function portOf(connect: Connect): Promise<unknown> {
  const link = await connect();
  const { rows } = await link.query({ text: 'select inet_server_port() as port' });
  await link.end();
  return rows[0];
}

/** A server with a standby, and the URL of both. */
async function twoServers() {
  const old = await startPostgres();
  const url = await createDatabaseOn(old.address);
  const only = parseDatabaseUrl(url);
  const standby = await startStandby(old, onTestFinished, { waitsFor: '' }); // which the old one does not wait for when it is back
  const address = { ...only, hosts: [...only.hosts, { host: '127.0.0.1', port: standby.address.port }] };
  return { old, standby, url, only, address };
}

describe.skipIf(lack !== '')(`a server that is back after its standby took over${lack && ` (${lack})`}`, () => {
  it('is not used any more, neither by who was there meanwhile, nor by who begins now', async () => {
    const { old, standby, address } = await twoServers();
    const known = createConnect(address);
    expect(await portOf(known)).toEqual({ port: old.address.port });
    await old.kill();
    await standby.promote();
    expect(await portOf(known)).toEqual({ port: standby.address.port });

    await old.start(); // as a machine does that is switched on again
    expect(await portOf(known)).toEqual({ port: standby.address.port });
    expect(await portOf(createConnect(address))).toEqual({ port: standby.address.port });
    await standby.stop('fast');
    await expect(known()).rejects.toThrow(DatabaseUnreachable);
    await standby.start();
    expect(await portOf(known)).toEqual({ port: standby.address.port });
  });

  it('is refused by a machine that starts while the newer one is down, until a person decides', async () => {
    const { old, standby, url, only, address } = await twoServers();
    const historyFile = join(await temporaryFolder(), 'database-timelines.json');
    const platform = tickingPlatform();
    const open = async (at: DatabaseAddress) => openPostgresStore({ address: at, historyFile, platform, log: silent });
    const projects = async (at: DatabaseAddress) => {
      const store = await open(at);
      return store.read.projects.list().finally(store.close);
    };
    await (await open(address)).close();
    await old.kill();
    await standby.promote();
    const store = await open(address);
    await store.transact((tx) => tx.projects.save(sampleProject()));
    await store.close();
    expect((await stat(historyFile)).mode & 0o777).toBe(0o600);
    const dump = join(await temporaryFolder(), 'callboard.dump');
    const newerUrl = url.replace(`:${old.address.port}/`, `:${standby.address.port}/`);
    await promisify(execFile)(dumps ?? '', ['--format=custom', `--file=${dump}`, newerUrl]);

    await standby.stop('fast');
    await old.start();
    const [olderAt, newerAt] = [old, standby].map((server) => `127.0.0.1:${server.address.port}`);
    const text = `${olderAt} is an older copy: it is at timeline 1, and this machine has used timeline 2 (at ${newerAt}). Start the newer server. If the older one was restored on purpose, remove the file ${historyFile} on this machine`;
    for (const at of [address, only])
      await expect(open(at)).rejects.toMatchObject({
        code: 'storage_failed',
        message: expect.stringContaining(text),
      });

    // Whoever restores a dump has another database, also on the older server.
    const restored = await createDatabaseOn(old.address);
    await promisify(execFile)(restores ?? '', ['--exit-on-error', '--no-owner', `--dbname=${restored}`, dump]);
    expect(await projects(parseDatabaseUrl(restored))).toEqual([sampleProject()]);
    await expect(open(only)).rejects.toMatchObject({ code: 'storage_failed' });

    await standby.start();
    expect(await projects(address)).toEqual([sampleProject()]);

    await standby.stop('fast');
    await rm(historyFile);
    expect(await projects(address)).toEqual([]); // what the older one has
    await standby.start();
    expect(await projects(address)).toEqual([sampleProject()]);
  });

  it('is not used by a machine that had no network while the standby took over', async () => {
    const { old, standby, address } = await twoServers();
    const connect = createConnect(address);
    const link = await connect(); // to the old one, which was there alone
    await old.kill();
    await until('the connection is lost', link.isBroken);
    await standby.promote();
    await old.start();
    expect(await portOf(connect)).toEqual({ port: standby.address.port });
  });

  it('is used by a store that runs, once a person has removed the file', async () => {
    const { old, standby, address } = await twoServers();
    await old.kill();
    await standby.promote();
    const path = join(await temporaryFolder(), 'database-timelines.json');
    const [writes, reads] = [silent, null].map((writer) =>
      createConnect(address, createServerHistory({ path, writer })),
    );
    const both = [writes ?? expect.fail(), reads ?? expect.fail()];
    for (const connect of both) expect(await portOf(connect)).toEqual({ port: standby.address.port });
    await standby.stop('fast');
    await old.start();
    for (const connect of both) await expect(connect()).rejects.toThrow('it is from before a fail-over');
    await rm(path);
    for (const connect of both) expect(await portOf(connect)).toEqual({ port: old.address.port });
  });
});

const at = (timeline: number, database = '5') => ({
  query: async () => ({ rows: [{ system: '7', database, timeline }] }),
});
const fails = (code: string) => ({
  query: () => Promise.reject(Object.assign(new Error('no'), { severity: 'ERROR', code })),
});

it('counts a server as current that does not tell this account where it is', async () => {
  const history = createServerHistory();
  await history.require(at(2), 'db2');
  await expect(history.require(at(1), 'db1')).rejects.toThrow('it is from before a fail-over');
  for (const code of ['42501', '0A000', '55000']) await history.require(fails(code), 'db1');
  await expect(history.require(fails('57P01'), 'db1')).rejects.toMatchObject({ code: '57P01' });
});

it('keeps what several connections find at the same time', async () => {
  const path = join(await temporaryFolder(), 'timelines.json');
  const history = createServerHistory({ path, writer: silent });
  await Promise.all([history.require(at(2), 'db2'), history.require(at(4, '6'), 'db2'), history.require(at(3), 'db3')]);
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
    newest: [
      { system: '7', database: '5', timeline: 3, server: 'db3' },
      { system: '7', database: '6', timeline: 4, server: 'db2' },
    ],
  });
});

it('refuses every server while the file cannot be read, and says what to do', async () => {
  const path = join(await temporaryFolder(), 'timelines.json');
  await writeFile(path, '{"newest":[{}]}');
  const refused = createServerHistory({ path, writer: silent }).require(at(2), 'db2');
  await expect(refused).rejects.toMatchObject({
    text: expect.stringMatching(/cannot be read .*start the newest server and remove the file\.$/s),
  });
});

it('uses the database also if it cannot be noted', async () => {
  const path = join(await temporaryFolder(), 'missing', 'timelines.json');
  const history = createServerHistory({ path, writer: silent });
  await history.require(at(2), 'db2');
  await expect(history.require(at(1), 'db1')).rejects.toThrow(DatabaseUnreachable);
});
