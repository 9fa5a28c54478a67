import { AT } from '@callboard/contract/samples';
import { describe, expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../test-support/postgres.ts';
import { createStoreDatabase } from '../../orchestrator/test/support/test-postgres.ts';
import { openTestStore } from '../../orchestrator/test/support/test-store.ts';
import { createConnect } from './pg-link.ts';

const UNIQUE_VIOLATION = '23505';

async function openLink() {
  const link = await createConnect(await createStoreDatabase())();
  onTestFinished(link.end);
  return link;
}

const pause = (scope: string) => ({
  name: 'hold',
  text: 'insert into holds (scope, document) values ($1, $2)',
  values: [scope, '{}'],
});

describe.skipIf(postgresLack !== '')(`writes that are sent later${postgresLack && ` (${postgresLack})`}`, () => {
  it('reach the database in order, before what is asked next', async () => {
    const link = await openLink();
    await link.queryAll('begin');
    link.queryLater(pause('one'));
    link.queryLater({ text: `update holds set scope = 'two' where scope = 'one'` });
    expect((await link.query({ text: 'select scope from holds' })).rows).toEqual([{ scope: 'two' }]);
    link.queryLater(pause('three'));
    expect((await link.queryAll('commit')).at(-1)?.command).toBe('COMMIT');
    const count = 'select count(*) as count from holds';
    expect((await link.query({ text: count })).rows).toEqual([{ count: 2 }]);
  });

  it('fail what is asked next with their own failure, and nothing is committed', async () => {
    const link = await openLink();
    await link.queryAll('begin');
    for (const scope of ['one', 'one', 'two']) link.queryLater(pause(scope));
    await expect(link.queryAll('select 1; commit')).rejects.toMatchObject({ code: UNIQUE_VIOLATION });
    await link.rollback();
    expect(link.isBroken()).toBe(false);
    expect((await link.query({ text: 'select scope from holds' })).rows).toEqual([]);
    await link.query(pause('one')); // its name is still good
  });

  it('are forgotten by a rollback', async () => {
    const link = await openLink();
    await link.queryAll('begin');
    link.queryLater(pause('one'));
    await link.rollback();
    expect((await link.query({ text: 'select scope from holds' })).rows).toEqual([]);
  });

  it('a name whose first use failed before the server knew it works later', async () => {
    const link = await openLink();
    await link.queryAll('begin');
    link.queryLater({ text: 'select 1 / 0' });
    link.queryLater(pause('one'));
    await expect(link.query(pause('two'))).rejects.toMatchObject({ code: '22012' });
    await link.rollback();
    await link.query(pause('one'));
    expect((await link.query({ text: 'select scope from holds' })).rows).toEqual([{ scope: 'one' }]);
  });

  it('a transaction of the store whose last write fails stores nothing, and the next one works', async () => {
    const { store, addStage, events } = await openTestStore(undefined, 'PostgreSQL');
    const stageId = await addStage();
    const entry = {
      stageId,
      index: 1,
      parentToolUseId: null,
      at: AT,
      kind: 'notice',
      level: 'info',
      code: 'released',
      text: 'x',
    } as const;
    const twice = store.transact(async (tx) => {
      await tx.emit({ type: 'transcript-appended', data: { stageId, index: 0 } });
      await tx.transcript.append([entry, entry]);
    });
    await expect(twice).rejects.toMatchObject({ code: UNIQUE_VIOLATION });
    await store.transact(async (tx) => {
      await tx.transcript.append([entry]);
      await tx.emit({ type: 'transcript-appended', data: { stageId, index: 1 } });
    });
    expect(events).toMatchObject([{ seq: 1, data: { index: 1 } }]);
    const page = { after: 0, before: undefined, limit: 10 };
    expect(await store.read.transcript.page(stageId, page)).toHaveLength(1);
  });
});
