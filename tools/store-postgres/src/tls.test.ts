import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DatabaseAddress, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isInstalled } from '../../../scripts/debian.ts';
import { makeCertificate, makeExpiredCertificate } from '../../../test-support/certificates.ts';
import {
  createDatabaseOn,
  type PostgresServer,
  postgresLack,
  runSql,
  startPostgres,
} from '../../../test-support/postgres.ts';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { startDatabaseProxy } from '../../orchestrator/test/support/database-proxy.ts';
import { sampleProject, silent, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { createConnect } from './pg-link.ts';
import { openPostgresStore } from './postgres-store.ts';

const lack = postgresLack || (isInstalled('openssl') ? '' : 'needs openssl');

/** Refuses what is not encrypted. */
const ENTRIES = 'local all all scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n';
const SETTINGS = [
  "listen_addresses = 'localhost'",
  'ssl = on',
  "ssl_cert_file = 'good.pem'",
  "ssl_key_file = 'good.key'",
];

describe.skipIf(lack !== '')(`a database on a server with TLS${lack && ` (${lack})`}`, () => {
  const ends: (() => void | Promise<void>)[] = [];
  const atEnd = (end: () => void | Promise<void>) => void ends.push(end);
  let folder: string;
  let server: PostgresServer;
  let address: DatabaseAddress;

  beforeAll(async () => {
    folder = await temporaryFolder(atEnd);
    const good = await makeCertificate(folder, 'good', ['127.0.0.1']);
    await makeCertificate(folder, 'other', ['127.0.0.1']);
    const old = await makeExpiredCertificate(folder, 'old');
    server = await startPostgres(atEnd, SETTINGS, {
      'good.pem': good.ca,
      'good.key': await readFile(good.key),
      'pg_hba.conf': ENTRIES,
      'old.pem': await readFile(old.cert),
      'old.key': await readFile(old.key),
    });
    address = parseDatabaseUrl(await createDatabaseOn(server.address, atEnd));
  });
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });

  /** The address with these parameters; files are named without their folder. */
  const to = (parameters: Record<string, string>, host = '127.0.0.1'): DatabaseAddress => ({
    ...address,
    hosts: [{ host, port: server.address.port }],
    parameters: new Map(
      Object.entries(parameters).map(([name, value]) => [name, name === 'sslrootcert' ? join(folder, value) : value]),
    ),
  });
  const open = (at: DatabaseAddress) => openPostgresStore({ address: at, platform: tickingPlatform(), log: silent });
  const refusal = (at: DatabaseAddress) =>
    open(at).then(
      async (store) => {
        await store.close();
        return 'opened';
      },
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  /** Changes a setting of the server for the rest of the test. */
  async function set(settings: Record<string, string>): Promise<void> {
    const alter = async (texts: string[]) => {
      for (const text of [...texts, 'select pg_reload_conf()']) await runSql(server.address, text);
    };
    onTestFinished(() => alter(Object.keys(settings).map((name) => `alter system reset ${name}`)));
    await alter(Object.entries(settings).map(([name, value]) => `alter system set ${name} = '${value}'`));
  }
  const FULL = { sslmode: 'verify-full', sslrootcert: 'good.pem' };

  it('holds a store, over connections that are encrypted', async () => {
    const store = await open(to(FULL));
    const project = sampleProject();
    await store.transact((tx) => tx.projects.save(project));
    expect(await store.read.projects.list()).toMatchObject([{ id: project.id }]);
    const encrypted = `select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid)
      where application_name = 'callboard' and datname = '${address.database}'`;
    expect(await runSql(server.address, encrypted)).toBe('t');
    await store.close();
    const left = `select count(*) from pg_stat_activity where datname = '${address.database}'`;
    await expect.poll(() => runSql(server.address, left)).toBe('0');
  });

  it('gets a write that is sent later and the next query without waiting for an answer in between', async () => {
    const proxy = await startDatabaseProxy(to(FULL));
    const link = await createConnect(proxy.address)();
    onTestFinished(link.end);
    await link.queryAll('create table if not exists sent (n int)');
    proxy.hang(true);
    link.queryLater({ text: 'insert into sent values (1)' });
    link.queryLater({ text: 'insert into sent values (2)' });
    const asked = link.query({ text: 'insert into sent values (3)' }).catch(() => undefined);
    const sent = 'select string_agg(n::text, $$,$$ order by n) from sent';
    await expect.poll(() => runSql(server.address, sent, address.database), { timeout: 20_000 }).toBe('1,2,3');
    await link.end();
    await asked;
  });

  it.each([
    [
      'a certificate of an authority that is not trusted',
      { ...FULL, sslrootcert: 'other.pem' },
      '127.0.0.1',
      /not signed by an authority this machine trusts .*sslrootcert/,
    ],
    [
      'a certificate for another name',
      FULL,
      'localhost',
      /localhost has a certificate for another name .*Name the server/,
    ],
    ['no encryption', {}, '127.0.0.1', /not encrypted .*sslmode=verify-full/],
    [
      'a file that is not there',
      { ...FULL, sslrootcert: 'none.pem' },
      '127.0.0.1',
      /none\.pem, which sslrootcert .*cannot be read \(ENOENT.*Correct the path/,
    ],
    [
      'a file without a certificate',
      { ...FULL, sslrootcert: 'no-certificate' },
      '127.0.0.1',
      /no-certificate, .*holds no certificate .*Name the certificate/,
    ],
  ])('is refused with %s, in words of its own', async (_what, parameters, host, text) => {
    await writeFile(join(folder, 'no-certificate'), 'hello');
    expect(await refusal(to(parameters, host))).toMatch(text);
    expect(await refusal(to(parameters, host))).toMatch(/^storage_failed: The store .* cannot be opened: /);
  });

  it('is told apart when its certificate has expired, and when it has no TLS', async () => {
    await set({ ssl_cert_file: 'old.pem', ssl_key_file: 'old.key' });
    const old = { sslmode: 'verify-ca', sslrootcert: 'old.pem' };
    await expect.poll(() => refusal(to(old)), { timeout: 20_000 }).toMatch(/has expired\. Renew it/);
    await set({ ssl: 'off' });
    await expect
      .poll(() => refusal(to(FULL)), { timeout: 20_000 })
      .toMatch(/takes no encrypted connections\. Switch ssl on/);
  });

  it('needs no authority with sslmode=require, and no name with verify-ca', async () => {
    expect(await refusal(to({ sslmode: 'require' }))).toBe('opened');
    expect(await refusal(to({ ...FULL, sslmode: 'verify-ca' }, 'localhost'))).toBe('opened');
  });
});
