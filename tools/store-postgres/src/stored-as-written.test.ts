import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { postgresLack } from '../../../test-support/postgres.ts';
import { until } from '../../../test-support/until.ts';
import type { OutboxBody } from '../../orchestrator/src/store/records.ts';
import type { Store } from '../../orchestrator/src/store/store.ts';
import { answer, control } from '../../orchestrator/test/support/test-outbox-writer.ts';
import { busyTestSession } from '../../orchestrator/test/support/test-session.ts';
import { openTestStore } from '../../orchestrator/test/support/test-store.ts';
import { createConnect } from './pg-link.ts';

const Writers = z.array(z.object({ pid: z.int() })).length(1);
const WRITER = `select pid from pg_locks where relation = 'cluster_state'::regclass and mode = 'RowShareLock'`;

/** A session on one machine, a second machine on the same store, and the network between the first one and the database. */
async function twoMachines() {
  const given = await openTestStore(undefined, 'PostgreSQL');
  const { store: here, address } = given;
  if (address === null) throw new Error('no address');
  const there = await given.openAgain();
  onTestFinished(there.close);
  const session = await busyTestSession({}, given);
  const { stageId } = session;
  const launchId = session.launchId();
  const taken: string[] = [];
  onTestFinished(here.onGiven(launchId, (rows) => taken.push(...rows.map(({ wireId }) => wireId))));
  const link = await createConnect(address)();
  onTestFinished(link.end);
  const pids = [await writerOf(here), await writerOf(there)];

  function writerOf(store: Store): Promise<number> {
    return store.transact(async () => Writers.parse((await link.query({ text: WRITER })).rows)[0]?.pid ?? 0);
  }

  return {
    here,
    there,
    launchId,
    taken,
    give: (by: Store, wireId: string, body: OutboxBody, state: 'accepted' | 'written' = 'accepted') =>
      by.transact(async (tx) => {
        const row = { id: wireId, stageId, launchId, wireId, actor: null, createdAt: tx.now };
        await tx.outbox.insert({ ...row, state, body });
      }),
    /** Takes all connections but those that write, until the returned function is called. */
    async cutReads(): Promise<() => Promise<unknown>> {
      const away = await createConnect({ ...address, database: 'postgres' })();
      onTestFinished(away.end);
      const allow = (isAllowed: boolean) =>
        away.queryAll(`update pg_database set datallowconn = ${isAllowed} where datname = '${address.database}'`);
      await allow(false);
      await link.queryAll(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and pid not in (pg_backend_pid(), ${pids.join()})`);
      return () => allow(true);
    },
    /** Keeps everybody from reading which rows were given to launches, until the returned function is called. */
    async pauseUpdates(): Promise<() => Promise<unknown>> {
      await link.queryAll('begin; lock table given_rows in access exclusive mode');
      return () => link.queryAll('rollback');
    },
  };
}

describe.skipIf(postgresLack !== '')(`a row of a launch${postgresLack && ` (${postgresLack})`}`, () => {
  it('that is stored as written is passed on once, in its place, though earlier commits of others could not be read', async () => {
    const { here, there, taken, give, cutReads } = await twoMachines();
    const letRead = await cutReads();
    await give(there, 'theirs', answer());
    await give(here, 'first', answer());
    await give(here, 'interrupt', control, 'written');
    await give(here, 'last', answer());
    expect(taken).toEqual([]);
    await letRead();
    await until('all are passed on', () => taken.includes('last'));
    await give(here, 'later', answer());
    expect(taken).toEqual(['theirs', 'first', 'interrupt', 'last', 'later']);
  });

  it('that is stored as written is passed on though the accepted ones were listed before', async () => {
    const { here, there, launchId, taken, give, cutReads, pauseUpdates } = await twoMachines();
    const letRead = await cutReads();
    await give(there, 'theirs', answer());
    await give(here, 'interrupt', control, 'written');
    const letKnow = await pauseUpdates();
    await letRead();
    const listed = await here.read.outbox.listOf(launchId, ['accepted']);
    expect(listed.map(({ wireId }) => wireId)).toContain('theirs');
    await letKnow();
    await until('it is passed on', () => taken.length > 0);
    await give(here, 'later', answer());
    expect(taken).toEqual(['interrupt', 'later']);
  });

  it('that another machine has given is passed on though those that are written were listed before', async () => {
    const { here, there, launchId, taken, give, cutReads, pauseUpdates } = await twoMachines();
    const letRead = await cutReads();
    await give(there, 'theirs', answer());
    const letKnow = await pauseUpdates();
    await letRead();
    await here.read.outbox.listOf(launchId, ['written']);
    await letKnow();
    await until('it is passed on', () => taken.length > 0);
    expect(taken).toEqual(['theirs']);
  });
});
