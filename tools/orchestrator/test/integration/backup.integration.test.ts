import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { backupStore, restoreStore } from '../../src/backup.ts';
import { createKit } from '../support/kit.ts';

it('copies the store while it is being written, and continues from the copy', async () => {
  const kit = await createKit({ isEmulated: true, isInFile: true });
  const { client, dataDir, folder } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.' }] }));
  await client.state(stageId, 'idle');
  const backup = join(folder, 'backup', 'one.sqlite');
  const busy = Array.from({ length: 30 }, (_, n) =>
    client.command('create_stage', { projectId: 'shop', title: `S${n}`, prompt: 'x' }),
  );
  const proof = await backupStore(dataDir, backup);
  await Promise.all(busy);
  expect(proof.stages).toBeGreaterThanOrEqual(1);
  await expect(backupStore(dataDir, backup)).rejects.toMatchObject({ code: 'backup_exists' });
  await expect(restoreStore(dataDir, backup, new Date())).rejects.toMatchObject({ code: 'data_dir_in_use' });

  await client.command('stop_stage', { stageId });
  const last = client.events.at(-1)?.seq ?? 0;
  await kit.stop();
  const { aside } = await restoreStore(dataDir, backup, new Date());
  expect(await readdir(dataDir)).toContain(aside?.slice(dataDir.length + 1));
  await kit.start();
  const { stages, seq } = kit.client.init.data;
  expect(stages).toHaveLength(proof.stages);
  // Events missing from the copy already had numbers; those are not reused.
  expect(seq).toBeGreaterThan(last);
  expect(await kit.client.command('get_events', { since: last })).toEqual({ events: [], resync: true });
  await kit.client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Second.' }] }) });
  const texts = async () =>
    (await kit.client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));
  await expect.poll(texts).toEqual(['First.', 'Second.']);
});

it('refuses a damaged backup and a damaged database, and changes neither', async () => {
  const kit = await createKit({ isEmulated: true, isInFile: true });
  const backup = join(kit.folder, 'bad.sqlite');
  await writeFile(backup, 'this is no database, however long it may be');
  await kit.stop();
  await expect(restoreStore(kit.dataDir, backup, new Date())).rejects.toMatchObject({ code: 'backup_damaged' });
  await kit.start();
  await kit.stop();
  const database = join(kit.dataDir, 'store.sqlite');
  const good = await readFile(database);
  await writeFile(database, Buffer.concat([good.subarray(0, 100), Buffer.alloc(good.length - 100, 7)]));
  await expect(kit.start()).rejects.toMatchObject({
    code: 'database_damaged',
    message: expect.stringContaining('callboard restore'),
  });
  await writeFile(database, good);
});
