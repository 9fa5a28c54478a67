import { ProjectId, ProjectPipelines, pipelinesOf, type Stage } from '@callboard/contract';
import { expect, it } from 'vitest';
import { machineId } from '../../../test/support/test-machines.ts';
import { busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { openTestStore, sampleProject } from '../../../test/support/test-store.ts';
import { createDraftFiles } from '../../features/messages/drafts.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Store } from '../../store/store.ts';
import { createStages } from './stages.ts';

const projectId = ProjectId.parse(sampleProject().id);
const gate = { check: { command: 'npm test' } };
const tested = { phases: [{ name: 'Build', prompt: '{{stage.prompt}}', gate }], finish: 'merge' };

const stagesIn = (store: Store, more: Partial<Parameters<typeof createStages>[0]> = {}) =>
  createStages({
    store,
    worktrees: { requireStartPoint: async () => undefined },
    settingsOf: async () => ({ settings: { defaults: {} } }),
    pipelinesFor: async () => ({
      problems: [],
      isAgreed: true,
      at: null,
      pipelines: pipelinesOf({ file: {}, own: ProjectPipelines.parse({ Tested: tested }) }),
    }),
    ...more,
  });

it('keeps each dependency once, in the given order', async () => {
  const { store, addStage } = await openTestStore();
  const [a, b] = [await addStage(), await addStage()];
  const stages = stagesIn(store);
  const made = await stages.create({ projectId, title: 'T', prompt: 'P', dependsOn: [b, a, b] });
  expect(made.dependsOn).toEqual([b, a]);
  expect((await stages.update(made.id, { dependsOn: [a, a] })).dependsOn).toEqual([a]);
  expect((await stages.update(made.id, { title: 'U' })).dependsOn).toEqual([a]);
});

it('replaces no text that was changed since it was shown, and says what it is now', async () => {
  const { store } = await openTestStore();
  const stages = stagesIn(store);
  const { id } = await stages.create({ projectId, title: 'T', prompt: 'As it was' });
  const seen = { title: 'T', prompt: 'As it was' };
  await stages.update(id, { prompt: 'What Ada wrote', seen });
  await expect(stages.update(id, { title: 'U', prompt: 'What Bob wrote', seen })).rejects.toMatchObject({
    code: 'stage_changed',
    message: expect.stringContaining('It is now: "What Ada wrote".'),
  });
  expect(await stages.update(id, { title: 'U', seen })).toMatchObject({ title: 'U', prompt: 'What Ada wrote' });
  expect(await stages.update(id, { prompt: 'What Ada wrote', seen })).not.toHaveProperty('seen');
});

it('creates one stage for a creation id, however often and at once it is asked', async () => {
  const { store } = await openTestStore();
  const stages = stagesIn(store);
  const wanted = { projectId, title: 'T', prompt: 'P', branch: 'feature' };
  const create = (creationId: string) => stages.create(wanted, { creationId });
  const once = '6f9619ff-8b86-4d01-b42d-00cf4fc964f1';
  const made = await Promise.all([create(once), create(once)]);
  expect(new Set(made.map(({ id }) => id)).size).toBe(1);
  await stages.update(made[0].id, { title: 'U' });
  expect(await create(once)).toMatchObject({ id: made[0].id, title: 'U' });
  expect(await store.read.stages.list()).toHaveLength(1);
  await expect(create('6f9619ff-8b86-4d01-b42d-00cf4fc964f2')).rejects.toMatchObject({ code: 'branch_taken' });
});

const file = (name: string) => ({ name, mediaType: 'text/plain', dataBase64: Buffer.from(name).toString('base64') });

async function stageWithFiles(...names: string[]) {
  const { store, file: database } = await openTestStore();
  const stages = stagesIn(store);
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
  const save = stage.attachments.map(({ fileId }) => fileId);
  const tooMany = { code: 'too_many_files', message: expect.stringContaining('these would be 21') };
  await expect(stages.update(stage.id, { files: save, attachments: many })).rejects.toMatchObject(tooMany);
  expect((await store.read.stages.find(stage.id))?.attachments).toEqual(stage.attachments);
  await expect(create([...many, file('more.txt')])).rejects.toMatchObject(tooMany);
  expect(await store.read.stages.list()).toHaveLength(1);
});

it('keeps the files of the first message when old draft files are deleted, and deletes them with the stage', async () => {
  const { stages, stage, store } = await stageWithFiles('a.txt');
  const [saved] = stage.attachments;
  await createDraftFiles({ store }).forgetOlder('2999-01-01T00:00:00.000Z');
  expect(await stages.attachment(stage.id, saved?.fileId ?? '')).toEqual(file('a.txt'));
  await stages.remove(stage.id);
  expect(await store.read.attachments.find(stage.id, saved?.fileId ?? '')).toBeNull();
});

it('takes a copy of the pipeline that is named, and its way to finish unless another one is given', async () => {
  const { store } = await openTestStore();
  const stages = stagesIn(store);
  const create = (fields: object) => stages.create({ projectId, title: 'T', prompt: 'P', ...fields });
  const phases = [{ name: 'Build', gate: { check: { command: 'npm test', attempts: 3 } } }];
  expect(await create({ pipeline: 'tested' })).toMatchObject({ pipeline: phases, finish: 'merge' });
  expect(await create({ pipeline: 'Tested', finish: 'none' })).toMatchObject({ finish: 'none' });
  expect(await create({ pipeline: 'Tested', finish: null })).toMatchObject({ finish: null });
  const stage = await create({ pipeline: 'Plan, build, verify' });
  expect([stage.pipeline.map(({ name }) => name), stage.finish]).toEqual([['Plan', 'Build', 'Verify'], null]);
  await expect(create({ pipeline: 'Tset' })).rejects.toMatchObject({ code: 'unknown_pipeline' });
  expect(await stages.update(stage.id, { pipeline: 'Tested' })).toMatchObject({ pipeline: phases, finish: 'merge' });
  // One that says nothing about it changes nothing about it.
  expect(await stages.update(stage.id, { pipeline: 'Just do it' })).toMatchObject({ pipeline: [], finish: 'merge' });
});

it('keeps the phases that have begun, but for the gate of the current one', async () => {
  const phase = (name: string) => ({ name, prompt: `${name} it.` });
  const [design, build, finish] = [phase('Design'), phase('Build'), phase('Finish')];
  const { store, stageId, emit, record } = await busyTestSession({ pipeline: [design, build, finish] });
  const stages = stagesIn(store);
  const change = (pipeline: object[]) => stages.update(stageId, { pipeline: pipeline as Stage['pipeline'] });
  await emit(turnEnded());
  expect(await record()).toMatchObject({ phaseIndex: 1 });
  const refused = { code: 'stage_running', message: expect.stringContaining('has begun') };
  for (const wrong of [
    [],
    [design],
    [build, design],
    [{ ...design, gate }, build],
    [design, { ...build, prompt: 'X' }],
  ])
    await expect(change(wrong)).rejects.toMatchObject(refused);
  await expect(stages.update(stageId, { pipeline: 'Tested' })).rejects.toMatchObject(refused);
  const { pipeline } = await change([design, { ...build, gate }, { ...finish, prompt: 'Other.' }, phase('More')]);
  expect(pipeline).toMatchObject([{}, { gate }, { prompt: 'Other.' }, { name: 'More' }]);
  expect(await change([design, build])).toMatchObject({ pipeline: [{}, { gate: 'none' }] });
});

it('adds no phases to a stage that was started without any', async () => {
  const { store, stageId } = await busyTestSession();
  await expect(stagesIn(store).update(stageId, { pipeline: 'Tested' })).rejects.toMatchObject({
    message: `${stageId} was started without phases. Send it a message instead.`,
  });
});

it('refuses a machine where there is one, and begins on the machine that has its files', async () => {
  const { store } = await openTestStore();
  const alone = stagesIn(store);
  const wanted = { projectId, title: 'A stage', prompt: 'Do it' };
  await expect(alone.create({ ...wanted, machine: 'attic' })).rejects.toMatchObject({ code: 'unknown_machine' });
  const here = machineId(1);
  const shared = stagesIn(store, { here, requireMachine: async () => undefined });
  const origin = { commit: 'c0ffee', tree: null, ref: null, isTaken: true };
  expect(await shared.create(wanted)).toMatchObject({ machineId: null });
  const forked = await shared.create({ ...wanted, machine: 'attic' }, { fields: async () => ({ origin }) });
  expect(await store.read.stages.find(forked.id)).toMatchObject({ machineId: here, machine: 'attic' });
});

it('keeps the machine of a stage whatever became of it, and refuses another one that is not there', async () => {
  const { store } = await openTestStore();
  const known = new Set(['attic']);
  const requireMachine = async (pin: string) => {
    if (!known.has(pin)) throw new Rejection('unknown_machine', `No machine is called ${pin}.`);
  };
  const stages = stagesIn(store, { here: machineId(1), requireMachine });
  const { id } = await stages.create({ projectId, title: 'A stage', prompt: 'Do it', machine: 'attic' });
  known.clear(); // it was removed
  expect(await stages.update(id, { title: 'Better', machine: 'attic' })).toMatchObject({ title: 'Better' });
  await expect(stages.update(id, { machine: 'cellar' })).rejects.toMatchObject({ code: 'unknown_machine' });
  expect(await stages.update(id, { machine: null })).toMatchObject({ machine: null });
});
