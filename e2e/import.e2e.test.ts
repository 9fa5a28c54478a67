import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { git } from '../test-support/git.ts';
import { createKanban } from '../tools/cli/test/kanban-sample.ts';
import { callApi } from './support/api.ts';
import { install } from './support/callboard.ts';

const Board = z.object({
  stages: z.array(z.object({ id: z.string(), title: z.string(), base: z.string().nullable(), column: z.string() })),
});

it('imports the tasks of vibe-kanban only with --yes, and only once', async () => {
  const { start, command, home, repo } = await install({}, onTestFinished, true);
  const { origin, stop } = await start();
  onTestFinished(stop);
  const stages = async () => Board.parse(await (await callApi(origin, 'GET', '/api/board')).json()).stages;
  const folder = join(home, '.local', 'share', 'vibe-kanban');
  await mkdir(folder, { recursive: true });
  const tasks = [{ title: 'Form', branches: ['vk/1-form'] }, { title: 'Search' }, { title: 'Old', status: 'done' }];
  const database = createKanban(join(folder, 'db.v2.sqlite'), 'new', [repo], tasks);
  onTestFinished(() => database.close());
  await git(repo, 'branch', 'vk/1-form');
  await command('login');

  const shown = await command('import', 'vibe-kanban');
  expect([shown.code, shown.output]).toEqual([
    0,
    expect.stringMatching(/a project already\): 2 stages.*nothing was imported/s),
  ]);
  expect(shown.output).toContain('begins at branch vk/1-form, which stays as it is');
  expect(await stages()).toEqual([]);

  const first = await command('import', 'vibe-kanban', '--yes');
  expect([first.code, first.output]).toEqual([0, expect.stringContaining('Created 2 stages. None has started')]);
  const imported = await stages();
  expect(imported.map(({ title, base, column }) => [title, base, column])).toEqual(
    expect.arrayContaining([
      ['Form', 'vk/1-form', 'ready'],
      ['Search', null, 'ready'],
    ]),
  );

  const again = await command('import', 'vibe-kanban', '--yes');
  expect(again.output).toContain('Created 0 stages. 2 stages had been imported before.');
  const more = await command('import', 'vibe-kanban', '--yes', '--all', '--json');
  expect(JSON.parse(more.output)).toMatchObject({
    imported: true,
    created: ['STAGE-3'],
    existing: ['STAGE-1', 'STAGE-2'],
  });
  expect(await stages()).toHaveLength(3);
  expect(await git(repo, 'branch', '--list', 'vk/1-form')).toBe('vk/1-form');
});
