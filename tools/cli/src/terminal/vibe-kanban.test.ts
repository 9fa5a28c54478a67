import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { createRepository, git } from '../../../../test-support/git.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { createKanban } from '../../test/kanban-sample.ts';
import { CliError } from '../errors.ts';
import { planImport } from './import.ts';
import { kanbanFiles, readKanban } from './vibe-kanban.ts';

async function sample(version: 'new' | 'old', ...args: [string[], Parameters<typeof createKanban>[3]]) {
  const file = join(await temporaryFolder(), 'db.sqlite');
  const database = createKanban(file, version, ...args);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  return { file, database };
}

const form = { title: 'Form', description: 'Two fields.', branches: ['vk/1-form', 'vk/2-form'] };

it.each(['new', 'old'] as const)('reads the %s tables while vibe-kanban has the file open', async (version) => {
  const { file } = await sample(version, ['/code/shop'], [form, { title: 'Old', status: 'done' }]);
  const attempts = ['vk/2-form', 'vk/1-form'].map((branch) => ({ branch, worktree: `/worktrees/${branch}` }));
  const board = readKanban(file);
  expect(board).toMatchObject({
    looseWorkspaces: 0,
    projects: [
      {
        name: 'Shop',
        repositories: ['/code/shop'],
        tasks: [
          { title: 'Form', description: 'Two fields.', status: 'todo', attempts },
          { title: 'Old', description: '', status: 'done', attempts: [] },
        ],
      },
    ],
  });
  expect(readKanban(file)).toEqual(board);
});

it('changes nothing in the file', async () => {
  const { file, database } = await sample('old', ['/code/shop'], [form]);
  database.close();
  const before = await readFile(file);
  readKanban(file);
  expect((await readFile(file)).equals(before)).toBe(true);
});

it.each(['projects', 'tasks', 'workspaces', 'repos', 'project_repos'])(
  'names the table %s if it is missing',
  async (table) => {
    const { file, database } = await sample('new', ['/code/shop'], []);
    database.exec(`DROP TABLE ${table}`);
    if (table === 'repos' || table === 'project_repos')
      database.exec("INSERT INTO projects (id, name) VALUES (x'aa', 'Other')");
    expect(() => readKanban(file)).toThrow(
      `${file} is no database of a known version of vibe-kanban: it has no table ${table}`,
    );
  },
);

it('refuses whatever else the file is with an error that names it', async () => {
  const { file, database } = await sample('old', ['/code/shop'], [form]);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  const bytes = await readFile(file);
  expect(() => readKanban(`${file}.none`)).toThrow(`${file}.none cannot be read`);
  for (let round = 0; round < 60; round += 1) {
    const damaged = Buffer.from(bytes);
    // The same damage in each run.
    for (let spot = 0; spot < 40; spot += 1)
      damaged[(round * 7919 + spot * 1013) % bytes.length] = (round * 31 + spot) % 256;
    await writeFile(file, round % 3 === 0 ? damaged.subarray(0, (round + 1) * 100) : damaged);
    try {
      readKanban(file);
    } catch (error) {
      expect(error).toBeInstanceOf(CliError);
      expect(String(error)).toContain(file);
    }
  }
  new DatabaseSync(`${file}.empty`).close();
  expect(() => readKanban(`${file}.empty`)).toThrow('it has no table projects');
});

it('refuses a row that it cannot read', async () => {
  const { file, database } = await sample('new', ['/code/shop'], [form]);
  database.exec("UPDATE tasks SET title = x'ff'");
  expect(() => readKanban(file)).toThrow(CliError);
});

it('plans stages from the newest branch that exists, and says what is left out', async () => {
  const repo = await createRepository(join(await temporaryFolder(), 'shop'));
  await git(repo, 'branch', 'vk/1-form');
  const tasks = [
    form,
    { title: 'Old', status: 'done' },
    { title: 'Off', status: 'cancelled' },
    { title: 'x'.repeat(400) },
  ];
  const { file } = await sample(
    'new',
    ['/gone', repo],
    [...tasks, { title: 'Long', description: 'x'.repeat(200_001) }],
  );
  const known = { all: false, projects: [], env: process.env };
  const { projects, leftOut } = await planImport(readKanban(file), known);
  expect(projects).toMatchObject([
    {
      path: repo,
      isNew: true,
      stages: [
        {
          title: 'Form',
          prompt: 'Form\n\nTwo fields.',
          base: 'vk/1-form',
          worktree: '/worktrees/vk/1-form',
          notes: ['branch vk/2-form does not exist'],
        },
        { title: `${'x'.repeat(299)}…`, base: null, worktree: null, notes: [] },
      ],
    },
  ]);
  expect(leftOut.map(({ what, why }) => `${what}: ${why}`)).toEqual([
    `Shop: its tasks go to ${repo}, not to /gone`,
    'Shop: Old: it is done; --all imports it too',
    'Shop: Off: it is cancelled; --all imports it too',
    expect.stringMatching(/^Shop: Long: its text is longer than 200,000 characters/),
  ]);
  const all = await planImport(readKanban(file), { ...known, all: true });
  expect(all.projects[0]?.stages.map(({ title }) => title)).toContain('Off');
});

it('leaves out a project without a repository, and workspaces without a task', async () => {
  const { file, database } = await sample('new', ['/gone'], [form]);
  database.exec('UPDATE workspaces SET task_id = NULL');
  const plan = await planImport(readKanban(file), { all: true, projects: [], env: process.env });
  expect(plan).toEqual({
    projects: [],
    leftOut: [
      { what: 'Shop', why: 'no repository of it exists (/gone)' },
      { what: '2 workspaces', why: 'without a task here; branches and worktrees stay' },
    ],
  });
});

it('knows where vibe-kanban keeps its data', () => {
  const at = (platform: NodeJS.Platform, env = {}) => kanbanFiles({ platform, env, home: '/home/me' })[0];
  expect(at('linux')).toBe('/home/me/.local/share/vibe-kanban/db.v2.sqlite');
  expect(at('linux', { XDG_DATA_HOME: '/data' })).toBe('/data/vibe-kanban/db.v2.sqlite');
  expect(at('darwin')).toBe('/home/me/Library/Application Support/ai.bloop.vibe-kanban/db.v2.sqlite');
});
