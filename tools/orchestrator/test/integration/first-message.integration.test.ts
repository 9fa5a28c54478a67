import { DatabaseSync } from 'node:sqlite';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { backupStore } from '../../src/backup.ts';
import { createKit, type Kit } from '../support/kit.ts';

const said = (text: string) => prompt({ steps: [{ text }] });
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const dot = { name: 'dot.png', mediaType: 'image/png', dataBase64: PIXEL };
const notes = {
  name: 'notes.txt',
  mediaType: 'text/plain',
  dataBase64: Buffer.from('Mind the gap').toString('base64'),
};

const create = async ({ client }: Kit, fields: object) =>
  (await client.command('create_stage', { projectId: 'shop', title: 'T', prompt: said('Seen.'), ...fields })).stage;

/** Everything that the model was sent. */
const sentToModel = ({ model }: Kit) => JSON.stringify(model.requests.filter(({ kind }) => kind === 'script'));

it('sends the files with the first message, whenever the stage starts: edited, after a crash, with its first phase', async () => {
  const kit = await createKit({ where: 'apart' });
  const pipeline = [{ name: 'Build', prompt: said('Built.'), gate: 'human' as const }];
  const made = await create(kit, { prompt: 'The picture.', attachments: [notes], pipeline });
  const files = made.attachments.map(({ fileId }) => fileId);
  await kit.client.command('update_stage', { stageId: made.id, patch: { files, attachments: [dot] } });
  await kit.kill(); // what a person was told is on disk
  await kit.start();
  const { client } = kit;
  const { stage } = await client.command('get_stage', { stageId: made.id });
  expect(stage.attachments.map(({ name, size }) => [name, size])).toEqual([
    ['notes.txt', 12],
    ['dot.png', Buffer.from(PIXEL, 'base64').length],
  ]);
  const [, second] = stage.attachments;
  expect((await client.command('get_attachment', { stageId: stage.id, fileId: second?.fileId })).file).toEqual(dot);

  await client.command('start_stage', { stageId: stage.id });
  await client.state(stage.id, 'idle');
  expect(sentToModel(kit)).toContain('"type":"image"');
  expect(sentToModel(kit)).toContain('Mind the gap');
  const [entry] = await client.transcript(stage.id);
  expect(entry).toMatchObject({ kind: 'user', attachments: [{ name: 'notes.txt' }, { name: 'dot.png' }] });
  const late = client.command('update_stage', { stageId: stage.id, patch: { files: [] } });
  await expect(late).rejects.toMatchObject({ code: 'stage_running' });
});

itAll('sends the files of a stage that waited for another one and starts automatically', async () => {
  const kit = await createKit();
  const first = await create(kit, { title: 'First' });
  const second = await create(kit, { dependsOn: [first.id], autoStart: true, attachments: [dot] });
  expect(second.column).toBe('backlog');
  await kit.client.command('complete_stage', { stageId: first.id });
  await kit.client.state(second.id, 'idle');
  expect(sentToModel(kit)).toContain('"media_type":"image/png"');
});

itAll('has the files in a backup, and refuses what no message can take', async () => {
  const kit = await createKit({ isInFile: true });
  const stage = await create(kit, { attachments: [dot] });
  const copy = `${kit.folder}/copy.sqlite`;
  await backupStore(kit.dataDir, copy);
  const database = new DatabaseSync(copy, { readOnly: true });
  const row = database.prepare('select document from attachments where stage_id = ?').get(stage.id);
  database.close();
  expect(JSON.parse(String(row?.document))).toEqual(dot);
  const movie = { ...dot, mediaType: 'video/mp4' };
  await expect(create(kit, { attachments: [movie] })).rejects.toMatchObject({ code: 'bad_request' });
});
