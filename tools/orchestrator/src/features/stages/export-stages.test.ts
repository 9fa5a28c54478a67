import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Phase, ProjectId, ProjectPipelines, pipelinesOf, StageId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { openTestStore, sampleProject } from '../../../test/support/test-store.ts';
import { newSession } from '../../core/session/new-session.ts';
import { Rejection } from '../../lib/errors.ts';
import { createStageImports } from './import-stages.ts';
import { createStageExports } from './stage-file.ts';

const SHOP = ProjectId.parse(sampleProject().id);
const PHASE = Phase.parse({ name: 'Build', prompt: '{{stage.prompt}}', gate: { check: { command: 'npm test' } } });
const OLD = '---\n# Kept as it is.\nid: A\ntitle: First\nstatus: Not Started\nteam: blue\n---\n\nDo it.\n';

async function scene() {
  const repo = await temporaryFolder();
  const { store, addStage } = await openTestStore();
  await store.transact((tx) => tx.projects.save(sampleProject({ path: repo })));
  const folder = join(repo, 'stages');
  await mkdir(folder);
  await writeFile(join(folder, 'one.md'), OLD);
  const pipelines = pipelinesOf({
    file: {},
    own: ProjectPipelines.parse({ Tested: { phases: [PHASE], finish: 'merge' } }),
  });
  const pipelinesFor = async () => ({ problems: [], isAgreed: true, pipelines, at: null });
  const requireMachine = async (pin: string) => {
    if (pin !== 'attic') throw new Rejection('unknown_machine', `No machine is called ${pin}. There are: attic.`);
  };
  const imports = createStageImports({
    store,
    home: repo,
    worktrees: { requireStartPoint: async () => undefined },
    pipelinesFor,
    requireMachine,
  });
  await imports.run(SHOP, 'stages');
  const change = (id: string, fields: object) =>
    store.transact(async (tx) => {
      const stage = await tx.stages.find(StageId.parse(id));
      if (stage !== null) await tx.stages.update({ ...stage, ...fields });
    });
  const { run } = createStageExports({ store, home: repo, pipelinesFor });
  return {
    folder,
    store,
    addStage,
    imports,
    change,
    run,
    read: (name: string) => readFile(join(folder, name), 'utf8'),
  };
}

it('writes what has changed into the file that a stage came from, and leaves the rest of it alone', async () => {
  const { run, change, read, store } = await scene();
  expect(await run(SHOP, 'stages')).toMatchObject({ written: [], unchanged: 1, kept: [] });
  const stage = await store.read.stages.find(StageId.parse('A'));
  if (stage === null) throw new Error('A is missing');
  await store.transact((tx) => tx.sessions.save(newSession(stage, tx.now)));
  await change('A', { title: 'Better: words', dependsOn: [] });
  expect(await run(SHOP, 'stages')).toMatchObject({ written: [expect.stringContaining('one.md')], kept: [] });
  expect(await read('one.md')).toBe(
    '---\n# Kept as it is.\nid: A\ntitle: "Better: words"\nstatus: In Progress\nteam: blue\n---\n\nDo it.\n',
  );
  await change('A', { completedAt: '2026-11-23T17:00:00.000Z', prompt: 'Do it well.' });
  await run(SHOP, 'stages');
  expect(await read('one.md')).toContain('status: Complete\nteam: blue\n---\n\nDo it well.\n');
});

it('never overwrites what a person has changed since, nor a file of something else', async () => {
  const { run, change, read, folder, addStage } = await scene();
  const mine = OLD.replace('Do it.', 'My own words.');
  await writeFile(join(folder, 'one.md'), mine);
  await change('A', { title: 'Other' });
  const id = await addStage({ title: 'New' });
  await writeFile(join(folder, `${id}.md`), 'Notes of mine.');
  const { kept, written } = await run(SHOP, 'stages');
  expect(kept.map(({ reason }) => reason).sort()).toEqual(['another-stage', 'changed']);
  expect([written, await read('one.md'), await read(`${id}.md`)]).toEqual([[], mine, 'Notes of mine.']);
});

it('writes stages that were written here so that an import reads them, once, and after an interruption as well', async () => {
  const { run, addStage, read, imports, folder, store, change } = await scene();
  const id = await addStage({ title: 'New: one', prompt: 'Line 1\n\n---\nLine 2', dependsOn: ['A'], group: 'g' });
  const command = await addStage({ prompt: '/review', promptIsCommand: true });
  const { kept } = await run(SHOP, 'stages');
  expect(kept).toMatchObject([{ file: join(folder, `${command}.md`), reason: 'command' }]);
  expect((await readdir(folder)).toSorted()).toEqual([`${id}.md`, 'one.md'].toSorted());
  await change(id, { sourceSign: null }); // it was killed before it could store that
  expect(await run(SHOP, 'stages')).toMatchObject({ written: [], unchanged: 2 });
  expect(await imports.run(SHOP, 'stages')).toMatchObject({ created: 0, updated: 2, ignored: [{ keys: ['team'] }] });
  expect(await store.read.stages.find(id)).toMatchObject({
    title: 'New: one',
    prompt: 'Line 1\n\n---\nLine 2',
    dependsOn: ['A'],
    group: 'g',
  });
  expect(await read(`${id}.md`)).toContain('status: Not Started');
});

it('writes mode, model, pipeline and finish of a stage so that an import on another board takes them over', async () => {
  const { run, addStage, change, read, imports, store } = await scene();
  const chosen = { permissionMode: 'plan', model: 'opus', effort: 'high', pipeline: [PHASE], finish: null };
  const id = await addStage({ title: 'Chosen' });
  await change(id, chosen);
  const own = await addStage({ title: 'Custom phases' });
  await change(own, { pipeline: [{ ...PHASE, name: 'Mine' }] });
  await run(SHOP, 'stages');
  expect(await read(`${id}.md`)).toContain(
    'model: opus\neffort: high\npermission_mode: plan\npipeline: Tested\nfinish: null\n',
  );
  expect(await read(`${own}.md`)).not.toMatch(/pipeline|finish|mode/);
  await store.transact((tx) => tx.stages.remove(id));
  await imports.run(SHOP, 'stages');
  expect(await store.read.stages.find(id)).toMatchObject(chosen);
  expect(await store.read.stages.find(own)).toMatchObject({ pipeline: [{ name: 'Mine' }] });
});

it('changes neither mode nor pipeline in a file that exists: a watched file may say what nobody has agreed to', async () => {
  const { run, change, read, folder, imports, store } = await scene();
  const asked = OLD.replace('team: blue', 'permission_mode: acceptEdits\npipeline: Tested\nmodel: opus');
  await writeFile(join(folder, 'one.md'), asked);
  await imports.follow(SHOP, 'stages');
  expect(await store.read.stages.find(StageId.parse('A'))).toMatchObject({
    permissionMode: 'default',
    pipeline: [],
    model: 'opus',
  });
  await change('A', { title: 'Other', permissionMode: 'plan', model: null });
  await run(SHOP, 'stages');
  expect(await read('one.md')).toBe(
    asked.replace('title: First', 'title: Other').replace('model: opus', 'model: null'),
  );
});

it('takes the machine of a stage from its file and writes it out, once a person imports it', async () => {
  const { run, addStage, change, read, folder, imports, store } = await scene();
  const machineOf = async (id: string) => (await store.read.stages.find(StageId.parse(id)))?.machine;
  const says = (line: string) => writeFile(join(folder, 'one.md'), OLD.replace('team: blue', line));
  await says('machine: attic');
  expect(await imports.follow(SHOP, 'stages')).toMatchObject({ problems: [] });
  expect(await machineOf('A')).toBeNull(); // it may have come with somebody else's commits
  await imports.run(SHOP, 'stages');
  expect(await machineOf('A')).toBe('attic');
  await says('team: blue');
  await imports.run(SHOP, 'stages');
  expect(await machineOf('A')).toBe('attic'); // as with every key that is not there
  await says('machine: null');
  await imports.run(SHOP, 'stages');
  expect(await machineOf('A')).toBeNull();
  const id = await addStage({ title: 'Pinned' });
  await change(id, { machine: 'attic' });
  await run(SHOP, 'stages');
  expect(await read(`${id}.md`)).toContain('machine: attic\n');
  expect(await read('one.md')).toContain('machine: null');
});

it('refuses a machine that is not there, with file, cause and what to do, unless the stage was started', async () => {
  const { folder, imports, store } = await scene();
  await writeFile(join(folder, 'one.md'), OLD.replace('team: blue', 'machine: cellar'));
  await expect(imports.run(SHOP, 'stages')).rejects.toMatchObject({
    code: 'import_failed',
    message: `Nothing was imported.\n${join(folder, 'one.md')}: machine: No machine is called cellar. There are: attic. Change the key, or take it out to leave the choice to Callboard.`,
  });
  const stage = (await store.read.stages.find(StageId.parse('A'))) ?? expect.fail();
  await store.transact((tx) => tx.sessions.save(newSession(stage, tx.now)));
  await imports.run(SHOP, 'stages');
  expect(await store.read.stages.find(StageId.parse('A'))).toMatchObject({ machine: null });
});

it('says when a folder cannot be written', async () => {
  const { run, folder, addStage } = await scene();
  await addStage();
  await expect(run(SHOP, join(folder, 'one.md', 'inside'))).rejects.toMatchObject({ code: 'bad_request' });
});
