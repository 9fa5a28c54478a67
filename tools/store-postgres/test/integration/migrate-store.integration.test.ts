import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { describe, expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { createDatabase, postgresLack } from '../../../../test-support/postgres.ts';
import { until } from '../../../../test-support/until.ts';
import { backupStore, restoreStore } from '../../../orchestrator/src/backup.ts';
import { createKit, type Kit, untilConfirmed } from '../../../orchestrator/test/support/kit.ts';
import { livingProcess } from '../../../orchestrator/test/support/living-process.ts';
import { copyStore } from '../../src/commands.ts';
import { migrateStore } from '../../src/migrate-store.ts';

const append = (word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> made.txt`, description: `Write ${word}` },
});
const nothing = () => undefined;

const move = ({ dataDir }: Kit, databaseUrl: string, to: 'postgres' | 'sqlite') =>
  migrateStore({ dataDir, databaseUrl, to, onTable: nothing });

/** Starts the kit's orchestrator on another store than before. */
const startOn = (kit: Kit, databaseUrl: string | null) => {
  kit.config.databaseUrl = databaseUrl;
  return kit.start();
};

describe.skipIf(postgresLack !== '')(`moving a store${postgresLack && ` (${postgresLack})`}`, () => {
  it('takes a session that waits along to PostgreSQL and back, and refuses each store that it left', async () => {
    const databaseUrl = await createDatabase();
    const kit = await createKit({ isEmulated: true, isInFile: true });
    const steps = ['one', 'two', 'three'].map((word) => ({ tools: [append(word)] }));
    const stageId = await kit.startStage(prompt({ steps: [...steps, { text: 'All finished.' }] }));
    const { pid } = await livingProcess(kit, stageId);
    const asked = async (word: string) => {
      const { requestId } = await kit.client.event('approval-requested', ({ input }) =>
        JSON.stringify(input).includes(`echo ${word} `),
      );
      return { stageId, requestId, decision: 'allow' };
    };
    await expect(move(kit, databaseUrl, 'postgres')).rejects.toMatchObject({ code: 'data_dir_in_use' });
    const first = await asked('one');
    const found = async () => (await kit.client.command('search', { q: 'echo one' })).results.map(({ index }) => index);
    const foundAtFirst = await found();
    expect(foundAtFirst.length).toBeGreaterThan(0);
    const before = kit.client.init.seq;
    await kit.stop();

    const moved = await move(kit, databaseUrl, 'postgres');
    expect(moved).toMatchObject({ wasCopied: false });
    await expect(startOn(kit, null)).rejects.toMatchObject({ code: 'store_elsewhere' });
    await expect(move(kit, databaseUrl, 'postgres')).rejects.toMatchObject({ code: 'no_data' });
    await startOn(kit, databaseUrl);
    expect((await livingProcess(kit, stageId)).pid).toBe(pid);
    expect(kit.client.init.seq).toBeGreaterThan(before);
    await expect.poll(found).toEqual(foundAtFirst);
    await kit.client.command('approve_tool', first);
    await untilConfirmed(kit, first.requestId);
    const second = await asked('two');
    const { stage } = await kit.client.command('create_stage', { projectId: 'shop', title: 'Next', prompt: 'x' });
    expect(stage.id).toBe('STAGE-2');
    const last = kit.client.events.at(-1)?.seq ?? 0;
    await kit.stop();

    await expect(move(kit, databaseUrl, 'sqlite')).rejects.toMatchObject({ code: 'target_not_empty' });
    const file = join(kit.dataDir, 'store.sqlite');
    for (const name of (await readdir(kit.dataDir)).filter((one) => one.startsWith('store.sqlite')))
      await rename(join(kit.dataDir, name), join(kit.dataDir, name.replace('store.sqlite', 'store.sqlite.before')));
    await move(kit, databaseUrl, 'sqlite');
    expect(await readFile(file)).not.toHaveLength(0);
    await expect(startOn(kit, databaseUrl)).rejects.toMatchObject({ code: 'store_elsewhere' });
    await startOn(kit, null);
    expect((await livingProcess(kit, stageId)).pid).toBe(pid);
    expect(kit.client.init.seq).toBeGreaterThanOrEqual(last);
    await expect.poll(async () => (await found()).length).toBeGreaterThan(foundAtFirst.length);
    await kit.client.command('approve_tool', second);
    await kit.client.command('approve_tool', await asked('three'));
    await kit.client.state(stageId, 'idle');
    expect(await readFile(join(kit.dataDir, 'worktrees', 'shop', stageId, 'made.txt'), 'utf8')).toBe(
      'one\ntwo\nthree\n',
    );
    const next = await kit.client.command('create_stage', { projectId: 'shop', title: 'Third', prompt: 'x' });
    expect(next.stage.id).toBe('STAGE-3');
  });

  it('leaves sessions to the machine that has them, also if another one with the same data directory starts first', async () => {
    const databaseUrl = await createDatabase();
    const kit = await createKit({ isEmulated: true, isInFile: true });
    const tools = [append('one')];
    const stageId = await kit.startStage(prompt({ steps: [{ tools }, { text: 'All finished.' }] }));
    const { requestId } = await kit.client.event('approval-requested');
    const { pid } = await livingProcess(kit, stageId);
    await kit.stop();
    await move(kit, databaseUrl, 'postgres');

    const { dataDir } = kit;
    await rename(dataDir, `${dataDir}-elsewhere`);
    await mkdir(dataDir); // as another machine sees it
    await startOn(kit, databaseUrl);
    expect((await kit.client.command('get_stage', { stageId })).stage.machineId).toBeNull();
    await kit.stop();
    await rm(dataDir, { recursive: true });
    await rename(`${dataDir}-elsewhere`, dataDir);

    await startOn(kit, databaseUrl);
    expect((await livingProcess(kit, stageId)).pid).toBe(pid);
    await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
    await kit.client.state(stageId, 'idle');
    expect(await readFile(join(dataDir, 'worktrees', 'shop', stageId, 'made.txt'), 'utf8')).toBe('one\n');
  });

  itAll('backs up a shared store while it is used, into a file that another data directory can restore', async () => {
    const databaseUrl = await createDatabase();
    const kit = await createKit({ machine: { databaseUrl, name: 'here' } });
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'Well.' }] }));
    await kit.client.state(stageId, 'idle');
    const backup = join(kit.folder, 'backup', 'one.sqlite');
    await expect(backupStore(kit.dataDir, backup)).rejects.toMatchObject({ code: 'no_data' });
    expect(
      await backupStore(kit.dataDir, backup, (file) => copyStore({ dataDir: kit.dataDir, databaseUrl }, file)),
    ).toMatchObject({ stages: 1 });
    await expect(restoreStore(kit.dataDir, backup, new Date())).rejects.toMatchObject({ code: 'store_elsewhere' });
    const { projects, stages } = kit.client.init.data;
    expect([projects.length, stages.length]).toEqual([1, 0]);
    await kit.stop();
    const other = await createKit({ isInFile: true });
    await other.stop();
    await restoreStore(other.dataDir, backup, new Date());
    await other.start();
    expect(other.client.init.data.stages.map(({ id }) => id)).toContain(stageId);
    expect(other.client.init.data.projects.map(({ path }) => path)).toContain(kit.repo);
  });

  it('changes nothing when it is killed, and can be run again', async () => {
    const databaseUrl = await createDatabase();
    const kit = await createKit({ isInFile: true });
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'Well.' }] }));
    await kit.client.state(stageId, 'idle');
    await kit.stop();
    const source = new URL('../../src/migrate-store.ts', import.meta.url);
    const program = `
      const { migrateStore } = await import('${source}');
      const die = () => process.kill(process.pid, 'SIGKILL');
      process.once('message', ({ at, ...move }) => migrateStore({ ...move, onTable: ({ name }) => void (name === at && die()) }));
      process.send('ready');`;
    for (const at of ['projects', 'events']) {
      const child = fork('-', { execArgv: ['--input-type=module', '--eval', program], stdio: 'inherit' });
      await once(child, 'message');
      const exited = once(child, 'exit');
      child.send({ at, dataDir: kit.dataDir, databaseUrl, to: 'postgres' });
      expect(await exited).toEqual([null, 'SIGKILL']);
      expect(await readdir(kit.dataDir)).not.toContain('store.json');
    }
    await until('the connections of the killed are gone', async () => {
      const moved = await move(kit, databaseUrl, 'postgres').catch((error: unknown) => {
        if (error instanceof Error && /in use|target_not_empty/.test(`${error.message}`)) return null;
        throw error;
      });
      return moved !== null && !moved.wasCopied;
    });
    expect((await readdir(kit.dataDir)).filter((name) => name.includes('moving'))).toEqual([]);
    await startOn(kit, databaseUrl);
    expect(kit.client.init.data.stages).toHaveLength(1);
  });
});
