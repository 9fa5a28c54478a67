import { LaunchId } from '@callboard/contract';
import { type DatabaseAddress, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { expect, it, onTestFinished } from 'vitest';
import { createDatabaseOn, postgresLack, runSql, startPostgres } from '../../../test-support/postgres.ts';
import { until } from '../../../test-support/until.ts';
import { silent, stageId, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { createConnect } from './pg-link.ts';
import { openPostgresStore } from './postgres-store.ts';

async function open(address: DatabaseAddress) {
  const store = await openPostgresStore({ address, platform: tickingPlatform(), log: silent });
  onTestFinished(store.close);
  return store;
}

/** Keeps everybody from reading which rows were given to launches. Returns how to let them. */
async function pauseUpdates(address: DatabaseAddress): Promise<() => Promise<unknown>> {
  const link = await createConnect(address)();
  onTestFinished(link.end);
  await link.queryAll('begin; lock table given_rows in access exclusive mode');
  return () => link.queryAll('rollback');
}

const note = { type: 'transcript-appended' as const, data: { stageId: stageId('S1'), index: 1 } };

it.skipIf(postgresLack !== '')(
  'a commit that waits for the news of others while its connection is made anew is refused, and not forgotten',
  async () => {
    const server = await startPostgres();
    const url = await createDatabaseOn(server.address);
    const address = parseDatabaseUrl(url);
    const database = new URL(url).pathname.slice(1);
    const [here, there] = [await open(address), await open(address)];
    const activity = (select: string, where: string) =>
      runSql(server.address, `select ${select} from pg_stat_activity where ${where}`, database);
    const isAtLeastOne = async (where: string) => Number(await activity('count(*)', where)) > 0;
    here.onGiven(LaunchId.parse('L1'), () => undefined);
    const letRead = await pauseUpdates(address);
    await there.transact((tx) => tx.emit(note));
    await until('news are being read', () => isAtLeastOne(`wait_event_type = 'Lock' and query like '%given_rows%'`));
    let hasWorked = false;
    const writing = here.transact(async (tx) => {
      await tx.emit(note);
      hasWorked = true;
    });
    const outcome = writing.then(
      () => 'stored',
      (error: unknown) => error,
    );
    const idle = `state = 'idle in transaction' and query like '%cluster_state%'`;
    await until('the commit waits', async () => hasWorked && (await isAtLeastOne(idle)));
    await activity('pg_terminate_backend(pid)', idle);
    await until('it is connected again', () => isAtLeastOne(`state = 'idle' and query like '%insert into writers%'`));
    await letRead();
    expect(await outcome).toMatchObject({ code: 'storage_failed' });
    await here.transact((tx) => tx.emit(note));
    expect(await here.read.events.lastSeq()).toBe(2);
  },
);
