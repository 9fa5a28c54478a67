import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { StageId } from '@callboard/contract';
import type { DatabaseAddress } from '@callboard/runtime/database-url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../test-support/postgres.ts';
import { openOnPostgres, openTestSearch, text } from '../../orchestrator/test/support/test-search.ts';
import { createConnect } from './pg-link.ts';

const SEARCHER = join(import.meta.dirname, '../test/support/shared-searcher-main.ts');

async function openSearch() {
  const search = await openTestSearch('PostgreSQL');
  if (search.address === null) throw new Error('not in a database');
  return { ...search, address: search.address, sql: await sqlOn(search.address) };
}

/** Runs statements on a connection of the test's own. Resolves with the rows of the last one. */
async function sqlOn(address: DatabaseAddress) {
  const link = await createConnect(address)();
  onTestFinished(link.end);
  return async (statements: string) => (await link.queryAll(statements)).at(-1)?.rows ?? [];
}

type Say = Awaited<ReturnType<typeof openSearch>>['say'];

/** Says as many things, each with the word "common". */
async function sayMany(say: Say, id: StageId, count: number, from = 1): Promise<void> {
  for (let at = 0; at < count; at += 500) {
    const some = Array.from({ length: Math.min(500, count - at) }, (_, n) => text(`common word${from + at + n}`));
    await say(id, from + at, ...some);
  }
}

const ENTRIES = `select "index"::int as index, count(*)::int as times from search_entries where kind = 'text' group by 1 order by 1`;
const eachOnce = (count: number) => Array.from({ length: count }, (_, at) => ({ index: at + 1, times: 1 }));

describe.skipIf(postgresLack !== '')(`an index in a shared store${postgresLack && ` (${postgresLack})`}`, () => {
  it('has each text once, whichever machine is told of it', async () => {
    const here = await openSearch();
    const there = await openOnPostgres(here.address);
    const id = await here.addStage(1, 'Login');
    for (let round = 0; round < 10; round++) {
      await sayMany(here.say, id, 100, round * 100 + 1);
      await Promise.all([here.findNow('common'), there.findNow('common')]);
    }
    await there.find('common');
    expect(await there.places('word1000')).toEqual(['STAGE-1 text 1000']);
    expect(await here.places('word1000')).toEqual(['STAGE-1 text 1000']);
    expect(await here.sql(ENTRIES)).toEqual(eachOnce(1_000));
  });

  it('finds what another machine has said just now', async () => {
    const here = await openSearch();
    const there = await openOnPostgres(here.address);
    const id = await here.addStage(1, 'Login');
    await there.find('login'); // its thread has begun
    for (let n = 1; n <= 10; n++) {
      await here.say(id, n, text(`said${n} now`));
      expect(await there.places(`said${n} `)).toEqual([`STAGE-1 text ${n}`]);
    }
  });

  it('is filled by another machine after one is killed in the middle', async () => {
    const here = await openSearch();
    const id = await here.addStage(1, 'Login');
    await here.openAgain(() => sayMany(here.say, id, 6_000));
    const killedAt: number[] = [];
    for (const laterMs of [0, 7, 20]) killedAt.push(await searchAndKill(here.address, laterMs));
    expect(Math.min(...killedAt)).toBeLessThan(6_000);
    await here.find('common');
    expect(await here.sql(ENTRIES)).toEqual(eachOnce(6_000));
    expect(await here.sql('select done::int, total::int from search_stages')).toEqual([{ done: 6_000, total: 6_000 }]);
  });

  it('finds nothing of a stage that was deleted, at once and without a trace', async () => {
    const here = await openSearch();
    const id = await here.addStage(1, 'Login');
    await here.say(id, 1, text('alpha'));
    await here.comment(id, 'c1', { text: 'alpha too' });
    expect(await here.places('alpha')).toHaveLength(2);
    // Nothing has told the index.
    await here.store.transact((tx) => tx.stages.remove(id));
    expect(await here.places('alpha')).toEqual([]);
    await here.store.transact((tx) => tx.emit({ type: 'stage-removed', data: { stageId: id } }));
    expect(await here.places('alpha')).toEqual([]);
    expect(await here.sql('select from search_entries union all select from search_stages')).toEqual([]);
  });

  it('goes on where it stood after a restart, and looks at everything if the events between are gone', async () => {
    const here = await openSearch();
    const id = await here.addStage(1, 'Login');
    await here.say(id, 1, text('alpha'));
    expect(await here.places('alpha')).toHaveLength(1);
    await here.openAgain(() => here.say(id, 2, text('alpha again')));
    expect(await here.places('alpha')).toEqual(['STAGE-1 text 2', 'STAGE-1 text 1']);
    await here.openAgain(async () => {
      await here.say(id, 3, text('alpha once more'));
      await here.say(await here.addStage(2, 'Logout'), 1, text('alpha there'));
      await here.sql('delete from events where seq < (select max(seq) from events)');
    });
    expect(await here.places('alpha')).toHaveLength(4);
  });

  it('is built anew if its tables are lost or of an older shape, and left alone if they are of a newer one', async () => {
    const here = await openSearch();
    await here.say(await here.addStage(1, 'Login'), 1, text('alpha'));
    expect(await here.places('alpha')).toHaveLength(1);
    await here.openAgain(() => here.sql('drop table search_state'));
    expect(await here.places('alpha')).toHaveLength(1);
    await here.openAgain(() => here.sql('update search_state set shape = 0; delete from search_entries'));
    expect(await here.places('alpha')).toHaveLength(1);
    await here.openAgain(() => here.sql('update search_state set shape = 99'));
    await expect(here.find('alpha')).rejects.toMatchObject({
      code: 'search_unavailable',
      message: expect.stringContaining('a newer Callboard'),
    });
  });

  it('neither waits for the lock of the writers nor keeps them waiting', async () => {
    const here = await openSearch();
    const id = await here.addStage(1, 'Login');
    await here.find('login'); // its thread has begun
    await here.say(id, 1, text('alpha'));
    await here.sql('begin; select from cluster_state where id = 1 for update');
    expect(await here.places('alpha')).toEqual(['STAGE-1 text 1']);
    await here.sql('commit; begin; lock search_entries, search_stages, search_state in access exclusive mode');
    await here.say(id, 2, text('beta'));
    await here.sql('commit');
    expect(await here.places('beta')).toEqual(['STAGE-1 text 2']);
  });

  it('finds what it has while the disk of the server is full, and tries nothing for a while', async () => {
    const here = await openSearch();
    const id = await here.addStage(1, 'Login');
    await here.say(id, 1, text('alpha'));
    expect(await here.places('alpha')).toHaveLength(1);
    await here.sql(`create sequence attempts; create function refuse() returns trigger language plpgsql as $$
      begin perform nextval('attempts'); raise exception 'no space left' using errcode = '53100'; end $$;
      create trigger refuse before insert on search_entries execute function refuse()`);
    await here.say(id, 2, text('alpha beta'));
    for (let n = 0; n < 5; n++)
      expect(await here.findNow('alpha')).toMatchObject({ results: [{ index: 1 }], indexing: { done: 1, total: 2 } });
    expect(await here.sql('select last_value::int as n from attempts')).toEqual([{ n: 1 }]);
    await here.openAgain(() => here.sql('drop trigger refuse on search_entries'));
    expect(await here.places('beta')).toEqual(['STAGE-1 text 2']);
  });

  it('finds words far apart in a text with more of them than PostgreSQL takes in one value', async () => {
    const here = await openSearch();
    const id = await here.addStage(1, 'Login');
    const many = Array.from({ length: 120_000 }, (_, n) => `word${n}`).join(' ');
    await here.say(id, 1, text(`first ones ${many} last ones`), text('first'));
    expect(await here.places('"first ones" "last ones"')).toEqual(['STAGE-1 text 1']);
    expect(await here.places('"word7 word8 word9 word10" word119999 ')).toEqual(['STAGE-1 text 1']);
    expect(await here.places('"ones first"')).toEqual([]);
    expect(await here.places('first')).toEqual(['STAGE-1 text 2', 'STAGE-1 text 1']);
    await here.removeStage(id);
    expect(await here.places('first')).toEqual([]);
    expect(await here.sql('select from search_parts')).toEqual([]);
  });

  it('indexes without being asked, some time after a change', async () => {
    const here = await openSearch();
    const id = await here.addStage(1, 'Login');
    await here.say(id, 1, text('alpha'));
    const inIndex = async () => (await here.sql(`select to_regclass('search_entries') is not null as has`))[0];
    await expect.poll(inIndex).toEqual({ has: true });
    await expect.poll(() => here.sql(ENTRIES)).toEqual(eachOnce(1));
  });
});

/** Kills a machine that fills the index, some time after its first answer. Resolves with how many entries were in the index then. */
async function searchAndKill({ hosts, user, password, database }: DatabaseAddress, laterMs: number): Promise<number> {
  const url = `postgres://${user}:${password}@${hosts[0]?.host}:${hosts[0]?.port}/${database}`;
  const env = { PATH: process.env.PATH, CALLBOARD_DATABASE_URL: url };
  const child = spawn(process.execPath, [SEARCHER, 'common'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  let printed = '';
  child.stdout.on('data', (data) => {
    if (printed === '') setTimeout(() => child.kill('SIGKILL'), laterMs);
    printed += data;
  });
  await closed;
  const last = printed.trim().split('\n').at(-1) ?? '';
  return last === 'all' ? Number.POSITIVE_INFINITY : Number(last);
}
