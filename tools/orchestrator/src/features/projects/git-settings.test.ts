import { appendFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { openTestStore, silent, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from '../../core/worktrees/worktrees.ts';
import { createGitSettings, createRepositories } from './git-settings.ts';
import { createProjects } from './projects.ts';

async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('web');
  const { store, events } = await openTestStore();
  const dataDir = lab.folder;
  /** The parts as they are after a start of Callboard. */
  const start = () => {
    const repositories = createRepositories({ store, dataDir, log: silent });
    const worktrees = createWorktrees({ dataDir, env: lab.env, repositories });
    const settings = createGitSettings({ store, worktrees, repositories, log: silent });
    return {
      repositories,
      worktrees,
      settings,
      projects: createProjects({ store, worktrees, home: '/nowhere', dataDir: '/nowhere' }),
    };
  };
  const { project } = await start().projects.register({ path });
  const now = async () => (await store.read.projects.find(project.id))?.gitSettings;
  const check = async () => {
    const parts = start();
    await parts.settings.checkAll();
    await parts.repositories.settled(project.id);
    return now();
  };
  return { ...lab, path, store, events, start, project, now, check };
}

it('counts the settings at registration as agreed, and reports later ones once', async () => {
  const { git, path, check, events, project, folder } = await setUp();
  expect(await check()).toEqual({ needed: false, hash: '', items: [] });
  await git(path, 'config', 'core.fsmonitor', join(folder, 'monitor'));
  const found = await check();
  expect(found).toMatchObject({
    needed: true,
    items: [
      { kind: 'config', name: 'core.fsmonitor', value: join(folder, 'monitor'), file: join(path, '.git', 'config') },
    ],
  });
  expect(await check()).toEqual(found);
  const reported = events.filter(
    (event) =>
      event.type === 'project-updated' && event.data.projectId === project.id && event.data.project.gitSettings.needed,
  );
  expect(reported).toHaveLength(1);
  await git(path, 'config', '--unset', 'core.fsmonitor');
  expect(await check()).toMatchObject({ needed: false });
});

it('agrees permanently, and only to the settings that were shown', async () => {
  const { git, path, check, start, project, folder } = await setUp();
  await git(path, 'config', 'core.fsmonitor', 'first');
  const { hash = '' } = (await check()) ?? {};
  await git(path, 'config', 'core.fsmonitor', join(folder, 'second'));
  const { settings } = start();
  await expect(settings.agree(project.id, hash)).rejects.toMatchObject({ code: 'git_settings_changed' });
  const shown = await check();
  expect(shown?.items).toMatchObject([{ value: join(folder, 'second') }]);
  expect((await settings.agree(project.id, shown?.hash ?? '')).gitSettings.needed).toBe(false);
  expect(await check()).toMatchObject({ needed: false });
  await writeFile(join(folder, 'second'), '#!/bin/sh\n');
  expect(await check()).toMatchObject({ needed: true });
});

it('refuses to agree for an unknown project', async () => {
  const { start, project } = await setUp();
  const { settings, projects } = start();
  await projects.remove(project.id);
  await expect(settings.agree(project.id, 'x')).rejects.toMatchObject({ code: 'unknown_project' });
});

it('counts the current settings of a repository that an older Callboard registered as agreed', async () => {
  const { git, path, store, project, check } = await setUp();
  await git(path, 'config', 'core.fsmonitor', 'mine');
  const { createdAt } = project;
  await store.transact(async (tx) => {
    await tx.projects.remove(project.id);
    await tx.projects.save({ ...project, createdAt });
  });
  expect(await store.read.projects.gitAgreement(project.id)).toBeNull();
  expect(await check()).toMatchObject({ needed: false });
  await appendFile(join(path, '.git', 'config'), '[core]\n\tsshCommand = theirs\n');
  expect((await check())?.items.map(({ name }) => name)).toEqual(['core.sshcommand']);
});

it('reports settings that only one worktree has', async () => {
  const { git, path, start, project, now, folder } = await setUp();
  const { worktrees, repositories } = start();
  const worktree = await worktrees.ensure(project, stageId('STAGE-1'), null);
  await git(path, 'config', 'extensions.worktreeConfig', 'true');
  await git(worktree.path, 'config', '--worktree', 'core.fsmonitor', join(folder, 'monitor'));
  await worktrees.suggestFiles(worktree, '');
  await repositories.settled(project.id);
  expect((await now())?.items).toMatchObject([
    { name: 'core.fsmonitor', file: join(path, '.git', 'worktrees', 'STAGE-1', 'config.worktree') },
  ]);
});

it('refuses a main checkout whose .git now points to another repository, until somebody agrees', async () => {
  const { git, path, folder, start, project, now } = await setUp();
  const prepared = join(folder, 'prepared');
  await git(folder, 'clone', '--quiet', path, prepared);
  await rm(join(path, '.git'), { recursive: true });
  await writeFile(join(path, '.git'), `gitdir: ${join(prepared, '.git')}\n`);
  const { worktrees, repositories, settings } = start();
  await expect(worktrees.ensure(project, stageId('STAGE-2'), null)).rejects.toMatchObject({
    code: 'worktree_failed',
    message: expect.stringContaining(`points to ${join(prepared, '.git')}, which nobody has agreed to`),
  });
  await repositories.settled(project.id);
  const shown = await now();
  expect(shown?.items).toMatchObject([{ kind: 'repository', name: '.git', value: join(prepared, '.git') }]);
  await settings.agree(project.id, shown?.hash ?? '');
  expect(await worktrees.ensure(project, stageId('STAGE-2'), null)).toMatchObject({ branch: 'callboard/STAGE-2' });
});
