import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createDatabaseOn,
  follows,
  postgresLack,
  receivedBytes,
  runSql,
  startPostgres,
  startStandby,
} from '../../../../test-support/postgres.ts';
import { until } from '../../../../test-support/until.ts';
import { createKit, untilConfirmed } from '../../../orchestrator/test/support/kit.ts';

const WAITS_FOR = 'ANY 1 (db2, db3)';
const PATIENT = { withinMs: 120_000 };

/** What is written unasked waits for no standby, and would be gone with the server. */
const QUIET = { lease: { leaseMs: 600_000, renewMs: 300_000, marginMs: 3_000 } };

const append = (word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> made.txt`, description: `Write ${word}` },
});

/** A session with four requests, on a server whose commits wait for one of two standbys. */
async function scene() {
  const primary = await startPostgres();
  const databaseUrl = await createDatabaseOn(primary.address);
  const standby = (name: string) => startStandby(primary, onTestFinished, { name, waitsFor: WAITS_FOR });
  const [db2, db3] = [await standby('db2'), await standby('db3')];
  const hosts = [primary, db2, db3].map(({ address }) => `127.0.0.1:${address.port}`).join(',');
  const all = databaseUrl.replace(new URL(databaseUrl).host, hosts);
  const kit = await createKit({
    isEmulated: true,
    machine: { databaseUrl: all, name: 'here' },
    limits: { diskCheckIntervalMs: 50, ...QUIET },
  });
  const text = ['one', 'two', 'three', 'four'];
  const steps = [...text.map((word) => ({ tools: [append(word)] })), { text: 'All finished.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  const asked = new Set<string>();
  /** What the next request is answered with. */
  const answer = async () => {
    const { requestId } = await kit.client.event('approval-requested', (one) => !asked.has(one.requestId));
    asked.add(requestId);
    return { stageId, requestId, decision: 'allow' };
  };
  const decide = async () => {
    const given = await answer();
    await kit.client.command('approve_tool', given);
    await untilConfirmed(kit, given.requestId);
    return given;
  };
  return { primary, databaseUrl, db2, db3, kit, stageId, answer, decide };
}

describe.skipIf(postgresLack !== '')(
  `two standbys, of which one is waited for${postgresLack && ` (${postgresLack})`}`,
  () => {
    it('let decisions go on while one is away, refuse them in words without both, and the one that has more takes over', {
      timeout: 300_000,
    }, async () => {
      const { primary, databaseUrl, db2, db3, kit, stageId, answer, decide } = await scene();
      const first = await decide();
      await db2.stop('fast');
      const second = await decide(); // only db3 has it

      const third = await answer();
      const same = 'select bool_and(flush_lsn = pg_current_wal_insert_lsn()) from pg_stat_replication';
      await until('db3 has everything', async () => (await runSql(primary.address, same)) === 't');
      await db3.stop('fast');
      const taken = kit.client.command('approve_tool', third);
      taken.catch(() => undefined); // told to a person that the reply is late
      const waits = "select count(*) > 0 from pg_stat_activity where wait_event = 'SyncRep'";
      await until('its commit waits', async () => (await runSql(primary.address, waits)) === 't');
      const isRefused = (warning: string) =>
        /^Nothing can be stored.*waits for a synchronous standby.*start one/s.test(warning);
      await kit.client.notices(({ warnings }) => warnings.some(isRefused), PATIENT);
      await expect(
        kit.client.command('send_message', { stageId, message: 'Go on', mode: 'append' }),
      ).rejects.toMatchObject({ code: 'storage_failed', message: expect.stringContaining('did not happen') });

      await db2.start();
      await kit.client.notices(({ warnings }) => warnings.length === 0, PATIENT);
      await untilConfirmed(kit, third.requestId); // what waited is stored, and only db2 has it

      const fourth = await answer();
      await until('db2 has everything', async () => (await runSql(primary.address, same)) === 't');
      await primary.kill();
      await db3.start();
      await until('one has more', async () => (await receivedBytes(db2.address)) > (await receivedBytes(db3.address)));
      await db2.promote();
      await runSql(db2.address, `alter system set synchronous_standby_names = '${WAITS_FOR}'`);
      await runSql(db2.address, 'select pg_reload_conf()');
      await db3.follow(db2.address);
      await until('the other one follows', () => follows(db2.address, 'db3', WAITS_FOR));
      await until('a decision is taken', async () => {
        const reply = kit.client.command('approve_tool', fourth);
        return reply.then(
          () => true,
          ({ code }: { code: string }) => code === 'already_decided',
        );
      });
      await untilConfirmed(kit, fourth.requestId);
      await kit.client.state(stageId, 'idle');
      const made = await readFile(join(kit.dataDir, 'worktrees', 'shop', stageId, 'made.txt'), 'utf8');
      expect(made).toBe('one\ntwo\nthree\nfour\n');
      const stored = "select string_agg(state, ' ') from outbox where wire_id in";
      const ids = [first, second, third, fourth].map(({ requestId }) => `'${requestId}'`).join(', ');
      const database = basename(new URL(databaseUrl).pathname);
      // A confirmation waits for no standby, so the one that follows shows it a moment later.
      for (const { address } of [db2, db3])
        await until(`all four are confirmed on port ${address.port}`, async () => {
          const states = await runSql(address, `${stored} (${ids})`, database);
          return states === 'confirmed confirmed confirmed confirmed';
        });
    });
  },
);
