import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDatabaseOn, postgresLack, startPostgres, startStandby } from '../../../../../test-support/postgres.ts';
import { DatabaseUnreachable } from '../storage-failure.ts';
import { type Connect, createConnect } from './pg-link.ts';
import { createServerHistory } from './server-history.ts';

/** The port of the server that is reached. */
async function portOf(connect: Connect): Promise<unknown> {
  const link = await connect();
  const { rows } = await link.query({ text: 'select inet_server_port() as port' });
  await link.end();
  return rows[0];
}

describe.skipIf(postgresLack !== '')(
  `a server that is back after its standby took over${postgresLack && ` (${postgresLack})`}`,
  () => {
    it('is not used any more, neither by who was there meanwhile, nor by who begins now', async () => {
      const old = await startPostgres();
      const only = parseDatabaseUrl(await createDatabaseOn(old.address));
      const standby = await startStandby(old, onTestFinished, false); // which the old one does not wait for when it is back
      const address = { ...only, hosts: [...only.hosts, { host: '127.0.0.1', port: standby.address.port }] };
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
  },
);

it('counts a server as current that does not tell this account where it is', async () => {
  const history = createServerHistory();
  const at = (timeline: number) => ({ query: async () => ({ rows: [{ system: '7', timeline }] }) });
  const fails = (code: string) => ({
    query: () => Promise.reject(Object.assign(new Error('no'), { severity: 'ERROR', code })),
  });
  await history.require(at(2));
  await expect(history.require(at(1))).rejects.toThrow('it is from before a fail-over');
  await history.require(fails('42501'));
  await expect(history.require(fails('57P01'))).rejects.toMatchObject({ code: '57P01' });
});
