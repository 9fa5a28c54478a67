import { ProjectId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { openTestStore, sampleProject } from '../../test/support/test-store.ts';
import { createDraftFiles } from '../messages/draft-files.ts';
import { createStages } from './stages.ts';

it('keeps each dependency once, in the given order', async () => {
  const { store, addStage } = await openTestStore();
  const [a, b] = [await addStage(), await addStage()];
  const stages = createStages({ store, worktrees: { requireStartPoint: async () => undefined } });
  const projectId = ProjectId.parse(sampleProject().id);
  const made = await stages.create({ projectId, title: 'T', prompt: 'P', dependsOn: [b, a, b] });
  expect(made.dependsOn).toEqual([b, a]);
  expect((await stages.update(made.id, { dependsOn: [a, a] })).dependsOn).toEqual([a]);
  expect((await stages.update(made.id, { title: 'U' })).dependsOn).toEqual([a]);
});

const file = (name: string) => ({ name, mediaType: 'text/plain', dataBase64: Buffer.from(name).toString('base64') });

async function stageWithFiles(...names: string[]) {
  const { store, file: database } = await openTestStore();
  const stages = createStages({ store, worktrees: { requireStartPoint: async () => undefined } });
  const projectId = ProjectId.parse(sampleProject().id);
  const create = (attachments: ReturnType<typeof file>[]) =>
    stages.create({ projectId, title: 'T', prompt: 'P', attachments });
  return { store, stages, database, create, stage: await create(names.map(file)) };
}

it('stores the files of the first message, and adds and removes some of them', async () => {
  const { stages, stage, store } = await stageWithFiles('a.txt', 'b.txt');
  expect(stage.attachments).toMatchObject([{ name: 'a.txt', size: 5 }, { name: 'b.txt' }]);
  const [a = '', b = ''] = stage.attachments.map(({ fileId }) => fileId);
  expect(await stages.attachment(stage.id, b)).toEqual(file('b.txt'));

  const changed = await stages.update(stage.id, { files: [b], attachments: [file('c.txt')] });
  expect(changed.attachments.map(({ name }) => name)).toEqual(['b.txt', 'c.txt']);
  await expect(stages.attachment(stage.id, a)).rejects.toMatchObject({ code: 'unknown_file' });
  await expect(stages.update(stage.id, { files: [a] })).rejects.toMatchObject({ code: 'unknown_file' });
  expect((await stages.update(stage.id, { title: 'U' })).attachments).toEqual(changed.attachments);
  expect((await stages.update(stage.id, { files: [] })).attachments).toEqual([]);
  expect(await store.read.attachments.find(stage.id, b)).toBeNull();
});

it('accepts no more files than a message can take, and then stores nothing', async () => {
  const { stages, stage, create, store } = await stageWithFiles('a.txt');
  const many = Array.from({ length: 20 }, (_, index) => file(`${index}.txt`));
  const keep = stage.attachments.map(({ fileId }) => fileId);
  const tooMany = { code: 'too_many_files', message: expect.stringContaining('these would be 21') };
  await expect(stages.update(stage.id, { files: keep, attachments: many })).rejects.toMatchObject(tooMany);
  expect((await store.read.stages.find(stage.id))?.attachments).toEqual(stage.attachments);
  await expect(create([...many, file('more.txt')])).rejects.toMatchObject(tooMany);
  expect(await store.read.stages.list()).toHaveLength(1);
});

it('keeps the files of the first message when old draft files are deleted, and deletes them with the stage', async () => {
  const { stages, stage, store } = await stageWithFiles('a.txt');
  const [kept] = stage.attachments;
  await createDraftFiles({ store }).forgetOlder('2999-01-01T00:00:00.000Z');
  expect(await stages.attachment(stage.id, kept?.fileId ?? '')).toEqual(file('a.txt'));
  await stages.remove(stage.id);
  expect(await store.read.attachments.find(stage.id, kept?.fileId ?? '')).toBeNull();
});
