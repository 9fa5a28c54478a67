import { join } from 'node:path';
import { ProjectId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { openTestStore, sampleProject } from '../../../test/support/test-store.ts';
import { createStages } from '../../core/session/stages.ts';
import { createWorktrees } from '../../core/worktrees/worktrees.ts';
import { createStageImports } from '../stages/import-stages.ts';
import { createStageSettings } from './project-settings.ts';

const projectId = ProjectId.parse(sampleProject().id);
const yaml = (name: string, more = '') =>
  `${more}pipelines:\n  Own:\n    phases:\n      - name: ${name}\n        prompt: "{{stage.prompt}}"\n`;

/** A repository whose pipeline "Own" has another phase on each branch. */
async function scene(settings: { base?: string; fetch?: boolean } = {}) {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  await lab.commit(path, 'callboard.yaml', yaml('Old'));
  const old = await lab.git(path, 'rev-parse', 'HEAD');
  await lab.git(path, 'branch', 'release');
  await lab.commit(path, 'callboard.yaml', yaml('New'));
  const { store } = await openTestStore();
  const project = sampleProject({ path });
  await store.transact((tx) => tx.projects.save({ ...project, settings: { ...project.settings, ...settings } }));
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const { ofProject, pipelinesFor } = createStageSettings({ store, worktrees });
  const stages = createStages({ store, worktrees, settingsOf: ofProject, pipelinesFor });
  const imports = createStageImports({ store, worktrees, home: lab.folder, pipelinesFor });
  const create = (more: { base?: string; pipeline?: string } = {}) =>
    stages.create({ projectId, title: 'T', prompt: 'P', pipeline: 'Own', ...more });
  return { lab, path, old, store, project, worktrees, stages, imports, create };
}

const phaseOf = ({ pipeline }: { pipeline: readonly { name: string }[] }) => pipeline[0]?.name;

it('reads a named pipeline at the base that was chosen for the stage, and at its worktree once it has one', async () => {
  const { create, stages, store, worktrees, project, lab, path } = await scene();
  expect(phaseOf(await create())).toBe('New');
  const stage = await create({ base: 'release' });
  expect(phaseOf(stage)).toBe('Old');
  expect(phaseOf(await stages.update(stage.id, { base: 'main', pipeline: 'Own' }))).toBe('New');
  expect(phaseOf(await stages.update(stage.id, { base: 'release' }))).toBe('New'); // chosen before
  expect(phaseOf(await stages.update(stage.id, { pipeline: 'Own' }))).toBe('Old');

  const start = { base: 'release', branch: null };
  const worktree = await worktrees.ensure(project, stage.id, null, { start });
  await store.transact((tx) => tx.stages.update({ ...stage, worktree }));
  await lab.git(path, 'branch', '--force', 'release', 'main');
  expect(phaseOf(await stages.update(stage.id, { pipeline: 'Own' }))).toBe('Old');
});

it('reads it at the base of the project, as it was last fetched', async () => {
  expect(phaseOf(await (await scene({ base: 'release' })).create())).toBe('Old');
  const { lab, path, create } = await scene({ base: 'release', fetch: true });
  await lab.git(lab.folder, 'clone', '--quiet', '--bare', path, 'remote.git');
  await lab.git(path, 'remote', 'add', 'origin', join(lab.folder, 'remote.git'));
  await lab.git(path, 'push', '--quiet', 'origin', '+main:release');
  await lab.git(path, 'fetch', '--quiet', 'origin');
  await lab.git(path, 'branch', '--quiet', '--set-upstream-to=origin/release', 'release');
  expect(phaseOf(await create())).toBe('New');
  await lab.git(path, 'remote', 'remove', 'origin');
  expect(phaseOf(await create())).toBe('Old');
});

it('reads it at the base that an imported file names', async () => {
  const { lab, imports, store, path } = await scene();
  for (const [id, base] of [
    ['STAGE-101', ''],
    ['STAGE-102', 'base: release\n'],
  ])
    await lab.commit(path, `${id}.md`, `---\nid: ${id}\ntitle: T\npipeline: Own\n${base}---\nDo it.\n`);
  const { ids } = await imports.run(projectId, '.');
  const found = await Promise.all(ids.map((id) => store.read.stages.find(id)));
  expect(found.map((stage) => stage && [stage.id, phaseOf(stage)])).toEqual([
    ['STAGE-101', 'New'],
    ['STAGE-102', 'Old'],
  ]);
});

it('says at which commit there is no such pipeline, or what nobody has agreed to there', async () => {
  const { lab, path, create } = await scene();
  await expect(create({ base: 'release', pipeline: 'Gone' })).rejects.toMatchObject({
    code: 'unknown_pipeline',
    message: expect.stringContaining('There is no pipeline "Gone" at release. There are "Own"'),
  });
  await lab.git(path, 'switch', '--quiet', 'release');
  await lab.commit(
    path,
    'callboard.yaml',
    `${yaml('Old')}        gate:\n          check:\n            command: npm test\n`,
  );
  await lab.git(path, 'switch', '--quiet', 'main');
  await expect(create({ base: 'release' })).rejects.toMatchObject({
    code: 'settings_not_agreed',
    message: expect.stringContaining('of callboard.yaml at release would run'),
  });
  expect(phaseOf(await create())).toBe('New');
});
