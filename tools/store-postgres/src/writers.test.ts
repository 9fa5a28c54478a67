import { expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../test-support/postgres.ts';
import { createDraft } from '../../orchestrator/src/store/sql/transactions.ts';
import { createStoreDatabase } from '../../orchestrator/test/support/test-postgres.ts';
import { sampleProject, silent, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { createCutCommits } from './commits.ts';
import { createConnect } from './pg-link.ts';
import { openPostgresStore } from './postgres-store.ts';

it.skipIf(postgresLack !== '')('forgets processes that have not written for 30 days, and no others', async () => {
  const address = await createStoreDatabase();
  const link = await createConnect(address)();
  onTestFinished(link.end);
  await link.queryAll(`insert into writers (id, "commit", at) values
    ('old', 1, now() - interval '31 days'), ('recent', 1, now() - interval '29 days')`);
  const store = await openPostgresStore({ address, platform: tickingPlatform(), log: silent });
  onTestFinished(store.close);
  const write = () => store.transact((tx) => tx.projects.save(sampleProject()), { sync: 'later' });
  const others = async () => {
    const { rows } = await link.query({ text: `select id from writers where id in ('old', 'recent')` });
    return rows;
  };
  await write();
  await store.sync();
  expect(await others()).toEqual([{ id: 'recent' }]);

  await link.queryAll('delete from writers');
  await write();
  const own = 'select writers.commit = cluster_state.commit as is_newest from writers, cluster_state';
  expect((await link.query({ text: own })).rows).toEqual([{ is_newest: true }]);
});

it.skipIf(postgresLack !== '')('says that a commit is unknown if its process was forgotten meanwhile', async () => {
  const link = await createConnect(await createStoreDatabase())();
  onTestFinished(link.end);
  const cut = createCutCommits('w1', async () => undefined);
  await cut.greet(link);
  await link.queryAll('delete from writers');
  const reported = cut.later(fifthCommit(), 'stored', new Error('cut off'));
  await cut.greet(link);
  await expect(reported).rejects.toMatchObject({ code: 'no_confirmation' });
});

it.skipIf(postgresLack !== '')(
  'settles a cut commit at a later connection if its news could not be passed on',
  async () => {
    const link = await createConnect(await createStoreDatabase())();
    onTestFinished(link.end);
    let isOutOfReach = true;
    const cut = createCutCommits('w1', async () => {
      if (isOutOfReach) throw new Error('the events cannot be read');
    });
    await cut.greet(link);
    const reported = cut.later(fifthCommit(), 'stored', new Error('cut off'));
    await link.queryAll(`update writers set "commit" = 5 where id = 'w1'`);
    await expect(cut.greet(link)).rejects.toThrow('cannot be read');
    expect(cut.isOpen()).toBe(true);
    isOutOfReach = false;
    await cut.greet(link);
    expect(await reported).toBe('stored');
    expect(cut.isOpen()).toBe(false);
  },
);

function fifthCommit() {
  const draft = createDraft({ platform: tickingPlatform(), diskPauseReason: () => null }, 'now');
  return { draft, after: 4 };
}
