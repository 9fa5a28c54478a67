import type { CommandReply } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, session, stage } from '../../test/samples.ts';

const login = stage('STAGE-1', { title: 'Login form' });
const view = () => board({ stages: [{ stage: login, session: session('STAGE-1', { state: 'idle' }) }] });
const TRASH = '00000000-0000-4000-8000-000000000001';
const files = [{ path: 'notes/plan.md', bytes: 8 }];
const removal = {
  worktree: '/w/STAGE-1',
  left: null,
  files,
  fileCount: 1,
  bytes: 8,
  buildFolders: [{ path: 'node_modules/', bytes: 2_048 }],
  branch: null,
  loose: {
    branch: null,
    commits: 2,
    earlier: 0,
    operation: null,
    stashes: [],
    branches: [{ name: 'other', commits: 1 }],
  },
};
const entry = {
  id: TRASH,
  projectId: login.projectId,
  projectName: 'shop',
  stageId: login.id,
  stageTitle: 'Login form',
  by: 'Ada',
  at: new Date().toISOString(),
  expiresAt: new Date(Date.now() + 29.5 * 86_400_000).toISOString(),
  files,
  fileCount: 1,
  bytes: 8,
  worktree: null,
  work: null,
};

it('says what deleting a stage removes and keeps, and what became of it', async () => {
  const { user, server } = openPage('/', view());
  server.answer({
    get_removal: () => ({ removal }),
    remove_stage: (): CommandReply<'remove_stage'> => ({
      stage: login,
      left: null,
      kept: entry,
      deleted: removal.buildFolders,
    }),
  });
  await user.click(await screen.findByRole('button', { name: 'More for Login form' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Delete', hidden: true }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Delete Login form' }));
  within(await dialog.findByRole('list', { name: 'Moved to the trash' })).getByText('notes/plan.md');
  within(dialog.getByRole('list', { name: 'Dependencies and build results' })).getByText('2.0 kB');
  dialog.getByText(
    /2 commits that no branch has \(the worktree is on no branch\) go to the trash for 30 days\. The branch other stays/,
  );
  expect(dialog.getByRole('checkbox')).toHaveProperty('checked', true);
  await user.click(dialog.getByRole('button', { name: 'Delete' }));
  await screen.findByText('1 item moved to the trash (8 B). 1 build folder deleted (2.0 kB).');
  expect(server.received.at(-1)).toEqual({
    command: 'remove_stage',
    input: { stageId: 'STAGE-1', buildFolders: 'delete', endSession: true },
  });
});

it.each([
  ['idle', 'Its Claude session is ended.', 'Delete'],
  ['waiting', 'Claude is working on it and is stopped first.', 'Stop and delete'],
] as const)('says before it deletes what becomes of a session that is %s, and ends it', async (state, text, verb) => {
  const open = board({ stages: [{ stage: login, session: session('STAGE-1', { state }) }] });
  const { user, server } = openPage('/stages/STAGE-1', open);
  server.answer({ get_removal: () => ({ removal }) });
  await user.click(await screen.findByRole('button', { name: 'More' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Delete', hidden: true }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Delete Login form' }));
  await dialog.findByText(text);
  await dialog.findByRole('list', { name: 'Moved to the trash' });
  await user.click(dialog.getByRole('button', { name: verb }));
  const sent = () => server.received.filter(({ command }) => command === 'remove_stage');
  await expect.poll(sent).toMatchObject([{ input: { stageId: 'STAGE-1', endSession: true } }]);
});

it('deletes nothing whose conversation goes on in a terminal', async () => {
  const terminal = { since: login.createdAt, by: 'Ada' };
  const open = board({ stages: [{ stage: login, session: session('STAGE-1', { state: 'ended', terminal }) }] });
  const { user, server } = openPage('/stages/STAGE-1', open);
  server.answer({ get_removal: () => ({ removal }) });
  await user.click(await screen.findByRole('button', { name: 'More' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Delete', hidden: true }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Delete Login form' }));
  await dialog.findByText(/goes on in a terminal/);
  await dialog.findByRole('list', { name: 'Moved to the trash' });
  expect(dialog.getByRole('button', { name: 'Delete' })).toHaveProperty('disabled', true);
});

it('lists the trash, restores from it, and says at the field why a folder will not do', async () => {
  const { user, server } = openPage('/', view());
  const work = {
    ref: 'refs/callboard/trash/STAGE-1/now',
    commit: 'c'.repeat(40),
    branch: 'callboard/STAGE-1',
    uncommitted: 2,
    unmerged: 1,
    earlier: 0,
  };
  const entries = [{ ...entry, work }];
  server.answer({
    get_trash: () => ({ entries }),
    restore_trash: ({ folder = '' }) => {
      if (!folder.startsWith('/')) return problem('bad_request', `${folder} is not an absolute path.`);
      entries.length = 0;
      return { folder, files, fileCount: 1, branch: 'callboard/restored-STAGE-1' };
    },
  });
  await user.click(await screen.findByRole('button', { name: 'Account' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Trash', hidden: true }));
  const list = within(await screen.findByRole('list', { name: 'Trash' }));
  await list.findByText('1 item, 8 B');
  list.getByText('30 days left');
  list.getByText(/2 uncommitted files and 1 unmerged commit/);
  await user.click(list.getByRole('button', { name: 'Restore Login form' }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Restore Login form' }));
  const folder = dialog.getByRole('textbox', { name: 'Folder' });
  await user.type(folder, 'elsewhere');
  await user.click(dialog.getByRole('button', { name: 'Restore' }));
  await dialog.findByText(/is not an absolute path/);
  await user.clear(folder);
  await user.type(folder, '/home/ada/back');
  await user.click(dialog.getByRole('button', { name: 'Restore' }));
  await screen.findByText('The trash is empty.');
  screen.getByText('/home/ada/back');
  screen.getByText('callboard/restored-STAGE-1');
});

it('reopens a done stage, and says that a message would', async () => {
  const done = stage('STAGE-1', { title: 'Login form', completedAt: login.createdAt });
  const worked = { state: 'idle', lastTurn: { outcome: 'succeeded', message: '', at: login.createdAt } };
  const { user, server } = openPage(
    '/stages/STAGE-1',
    board({ stages: [{ stage: done, session: session('STAGE-1', worked) }] }),
  );
  const [open] = board({ stages: [{ stage: login, session: session('STAGE-1', worked) }] }).stages;
  if (open === undefined) throw new Error('the board is empty');
  server.answer({ reopen_stage: () => ({ stage: open }) });
  await screen.findByText('This stage is done. Send a message to reopen it.');
  await user.click(screen.getByRole('button', { name: 'Reopen' }));
  const sent = () => server.received.filter(({ command }) => command === 'reopen_stage');
  await expect.poll(sent).toMatchObject([{ input: { stageId: 'STAGE-1' } }]);
});
