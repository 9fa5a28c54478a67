import { existsSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { openTestSearch, text } from '../../../test/support/test-search.ts';

const openSearch = async () => {
  const search = await openTestSearch('SQLite');
  if (search.files === null) throw new Error('not in files');
  return search;
};

describe('an index in a file', () => {
  it('is complete after it was stopped, lost, damaged, or written in another shape', async () => {
    const { files, places, openAgain, addStage, say } = await openSearch();
    const id = await addStage(1, 'Login');
    await say(id, 1, text('alpha'));
    expect(await places('alpha')).toHaveLength(1);
    const file = files.index;
    const lose = () => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
    };
    const noDatabase = () => {
      lose();
      writeFileSync(file, 'not a database'.repeat(1000));
    };
    const changes: [string, () => void][] = [
      ['stopped', () => undefined],
      ['lost', lose],
      ['no database', noDatabase],
      ['cut off', () => truncateSync(file, Math.floor(statSync(file).size / 2))],
      ['another shape', () => execOn(file, 'pragma user_version = 99')],
    ];
    for (const [name, change] of changes) {
      await openAgain(() => {
        execOn(file, 'pragma wal_checkpoint(truncate)');
        change();
      });
      await say(id, changes.findIndex(([other]) => other === name) + 2, text(`beta ${name}`));
      expect(await places('alpha'), name).toEqual(['STAGE-1 text 1']);
      expect((await places('beta')).length, name).toBeGreaterThan(0);
    }
    expect(statSync(file).mode & 0o077).toBe(0);
  });

  it('takes entries of a store that lost its end, or was replaced, for others', async () => {
    const { files, places, openAgain, addStage, say } = await openSearch();
    const id = await addStage(1, 'Login');
    await say(id, 1, text('alpha'), text('lost'));
    expect(await places('lost')).toHaveLength(1);
    await openAgain(async () => {
      execOn(files.store, 'delete from transcript where "index" = 2');
      await say(id, 2, text('replaced'));
    });
    expect(await places('lost')).toEqual([]);
    expect(await places('replaced')).toEqual(['STAGE-1 text 2']);
  });

  it('says how far it is while it is built, and still finds what it has', async () => {
    const { disk, findNow, addStage, say } = await openSearch();
    const id = await addStage(1, 'Login');
    disk.isDiskFull = true;
    await say(id, 1, text('alpha'), text('beta'));
    const { results, indexing } = await findNow('alpha');
    expect(results).toEqual([]);
    expect(indexing).toEqual({ done: 0, total: 2 });
    disk.isDiskFull = false;
    expect(await findNow('alpha')).toMatchObject({ results: [{ stageId: id }], indexing: null });
  });

  it('indexes by itself, some time after a change', async () => {
    const { files, find, addStage, say } = await openSearch();
    const id = await addStage(1, 'Login');
    await find('login'); // the thread has begun
    await say(id, 1, text('alpha'));
    const inFile = () => {
      if (!existsSync(files.index)) return 0;
      const database = new DatabaseSync(files.index, { readOnly: true });
      const { n } = { n: 0, ...database.prepare(`select count(*) as n from bodies where words match 'alpha'`).get() };
      database.close();
      return n;
    };
    await expect.poll(inFile).toBe(1);
  });
});

function execOn(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}
