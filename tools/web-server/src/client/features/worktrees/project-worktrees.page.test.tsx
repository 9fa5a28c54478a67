import { sampleProject } from '@callboard/contract/samples';
import { screen, waitFor, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, stage } from '../../test/samples.ts';

const AT = new Date().toISOString();
const worktree = (name: string, fields: Record<string, unknown> = {}) => ({
  name,
  path: `/data/worktrees/web/${name}`,
  stageId: stage(name).id,
  stageTitle: `Title of ${name}`,
  stays: null,
  bytes: 2_048,
  measuredAt: AT,
  ...fields,
});
const cleanUp = {
  path: '/data/worktrees/web/STAGE-1',
  left: null,
  files: [{ path: '.env', bytes: 8 }],
  fileCount: 1,
  bytes: 8,
  work: { branch: 'callboard/STAGE-1', uncommitted: 2, unmerged: 1, earlier: 0 },
  buildFolders: [{ path: 'node_modules', bytes: 1_024 }],
};

async function open(project = sampleProject({ id: 'web', name: 'Web' })) {
  const view = { ...board({ stages: [{ stage: stage('STAGE-1') }] }), projects: [project] };
  const page = openPage('/', view);
  const worktrees = [
    worktree('STAGE-1'),
    worktree('STAGE-2', { stays: 'STAGE-2 is not done.', bytes: 4_096 }),
    worktree('STAGE-3', { stageId: null, stageTitle: null, bytes: null, measuredAt: null }),
  ];
  let reads = 0;
  page.server.answer({
    get_worktrees: () => ({ worktrees, isMeasuring: ++reads === 1 }),
    get_worktree_clean_up: () => ({ cleanUp }),
    update_project: () => ({ project }),
    get_editors: () => ({ editors: ['code', 'zed'] }),
  });
  await page.user.click(await screen.findByRole('button', { name: 'Projects' }));
  await page.user.click(await screen.findByRole('menuitem', { name: 'Web', hidden: true }));
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map((one) => one.input);
  return { ...page, worktrees, sent };
}

it('shows what a project runs in its worktrees, refuses what cannot be read, and saves the rest', async () => {
  const { user, sent } = await open();
  await user.type(await screen.findByRole('textbox', { name: 'Set-up command' }), 'npm ci');
  const limit = screen.getByRole('textbox', { name: 'Set-up time limit, in minutes' });
  await user.type(limit, 'soon');
  const servers = screen.getByRole('textbox', { name: /dev servers/i });
  await user.type(servers, 'web 8080: npm run dev');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  expect(limit.getAttribute('aria-invalid')).toBe('true');
  expect(sent('update_project')).toEqual([]);
  await user.clear(limit);
  await user.type(limit, '5');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(sent('update_project')).toHaveLength(1));
  expect(sent('update_project')[0]).toMatchObject({
    projectId: 'web',
    settings: {
      setup: { command: 'npm ci', timeLimit: 300 },
      devServers: { web: { command: 'npm run dev', port: 8_080 } },
    },
  });
});

it('refuses a time limit that is no number of minutes, and saves nothing until it is one', async () => {
  const { user, sent } = await open();
  const limit = await screen.findByRole('textbox', { name: 'Time limit for requests, in minutes' });
  for (const wrong of ['-3', '1.5', '0']) {
    await user.clear(limit);
    await user.type(limit, wrong);
    await user.click(screen.getByRole('button', { name: 'Save' }));
    screen.getByText('Write a whole number of minutes, or leave it empty.');
  }
  expect(sent('update_project')).toEqual([]);
  await user.clear(limit);
  await user.type(limit, '15');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(sent('update_project')).toMatchObject([{ settings: { requestTimeoutMs: 900_000 } }]));
  await screen.findByText('Web saved');
});

it('leaves to callboard.yaml what it says, and names its mistakes', async () => {
  const decided = sampleProject({
    id: 'web',
    name: 'Web',
    file: { revision: 'f'.repeat(40), settings: { setup: { command: 'make' } }, problems: [] },
  });
  await open(decided);
  const setup = await screen.findByRole('textbox', { name: 'Set-up command' });
  expect(setup).toHaveProperty('value', 'make');
  expect(setup).toHaveProperty('disabled', true);
  expect(screen.getByRole('textbox', { name: 'Clean-up command' })).toHaveProperty('disabled', false);
});

it('lists worktrees with their sizes, and says what a clean-up keeps before it begins', async () => {
  const { user, server, worktrees, sent } = await open();
  const list = within(await screen.findByRole('list', { name: 'Worktrees' }));
  await screen.findByText(/3 worktrees, 6\.1 kB, measured/);
  list.getByText('STAGE-3 (its stage was deleted)');
  list.getByText('STAGE-2 is not done.');
  expect(list.getByRole('button', { name: 'Clean up Title of STAGE-2' })).toHaveProperty('disabled', true);
  await user.click(list.getByRole('button', { name: 'Clean up Title of STAGE-1' }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Clean up the worktree of Title of STAGE-1' }));
  await dialog.findByText(/2 uncommitted files and 1 unmerged commit\) goes to the trash/);
  within(dialog.getByRole('list', { name: 'Moved to the trash' })).getByText('.env');
  server.answer({
    clean_worktree: () => problem('worktree_stays', 'The worktree STAGE-1 was not cleaned up. STAGE-1 is not done.'),
  });
  await user.click(dialog.getByRole('button', { name: 'Clean up' }));
  await dialog.findByText(/was not cleaned up/);
  server.answer({
    clean_worktree: () => {
      worktrees.shift();
      return { kept: null, deleted: [] };
    },
  });
  await user.click(dialog.getByRole('button', { name: 'Clean up' }));
  await waitFor(() => expect(list.queryByText('Title of STAGE-1')).toBeNull());
  expect(sent('clean_worktree').at(-1)).toEqual({ projectId: 'web', name: 'STAGE-1', buildFolders: 'delete' });
});

it('cleans up all that nobody needs, and tells which stayed', async () => {
  const { user, server, sent } = await open();
  server.answer({
    clean_worktree: ({ name }) =>
      name === 'STAGE-1' ? problem('worktree_stays', 'STAGE-1 is locked.') : { kept: null, deleted: [] },
  });
  await user.click(await screen.findByRole('button', { name: 'Clean up 2 that are not needed' }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Clean up 2 worktrees' }));
  await user.click(dialog.getByRole('button', { name: 'Clean up' }));
  await dialog.findByText('1 worktree cleaned up, 1 left in place: STAGE-1 is locked.');
  expect(sent('clean_worktree')).toHaveLength(2);
});

it('offers the editors of the machine, and keeps the command of a person', async () => {
  const { user, sent } = await open();
  await screen.findByText('A command that gets the path of the worktree. Leave empty to use code.');
  await user.type(screen.getByRole('combobox', { name: 'Editor for worktrees' }), 'zed --new');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(sent('update_project')).toMatchObject([{ settings: { editor: 'zed --new' } }]));
});
