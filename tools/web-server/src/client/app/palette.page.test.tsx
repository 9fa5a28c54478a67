import { NOBODY } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it, onTestFinished } from 'vitest';
import { paletteDialog } from '../data/dialogs.ts';
import { openPage } from '../test/open-page.tsx';
import { board, request, session, stage } from '../test/samples.ts';

const login = stage('STAGE-1', { title: 'Login form' });
const refunds = stage('STAGE-2', { title: 'Refunds' });
const NOTHING = {
  worktree: null,
  left: null,
  files: [],
  fileCount: 0,
  bytes: 0,
  buildFolders: [],
  branch: null,
  loose: null,
};
const READS = ['search', 'get_capabilities'];
const options = () => screen.getAllByRole('option').map((option) => option.textContent);
const field = () => screen.findByRole('combobox', { name: 'Search or command' });

async function openPalette(view = board({ stages: [{ stage: login }, { stage: refunds }] })) {
  onTestFinished(paletteDialog.close);
  const opened = openPage('/', view);
  opened.server.answer({ search: () => ({ results: [], next: null, indexing: null }) });
  await screen.findByRole('region', { name: 'Ready' });
  await opened.user.keyboard('{Control>}k{/Control}');
  await field();
  return opened;
}

it('finds a stage by a few letters, shows its actions, and starts it', async () => {
  const { user, server } = await openPalette();
  server.answer({ start_stage: () => ({ stage: { ...login, column: 'running', session: null } }) });
  await user.type(await field(), 'lgnform{Enter}');
  expect(options()).toEqual([
    ...[
      'OpenEnter',
      'StartS',
      'FinishShift M',
      'HoldH',
      'RenameF2',
      'Edit',
      'DeleteDelete',
      'Priority',
      'Settings of web',
    ],
  ]);
  await user.type(await field(), 'start{Enter}');
  const sent = () => server.received.filter(({ command }) => !READS.includes(command));
  await expect.poll(sent).toMatchObject([{ command: 'start_stage', input: { stageId: 'STAGE-1' } }]);
  await expect.poll(() => screen.queryByRole('combobox', { name: 'Search or command' })).toBeNull();
});

it('does nothing to a stage on one Enter, and goes back on Backspace', async () => {
  const { user, server } = await openPalette(
    board({ stages: [{ stage: login, session: session('STAGE-1', { state: 'idle' }) }] }),
  );
  await user.type(await field(), 'login form{Enter}');
  expect(options()).toEqual(
    expect.arrayContaining(['OpenEnter', 'Open changes', 'FinishShift M', 'Model', 'DeleteDelete']),
  );
  await user.keyboard('{Backspace}');
  expect(options()).toContain('InboxG I');
  expect(server.received.filter(({ command }) => !READS.includes(command))).toEqual([]);
});

it('shows what was used lately first', async () => {
  const { user } = await openPalette();
  await user.type(await field(), 'refunds{Enter}{Enter}');
  await expect.poll(() => location.pathname).toBe('/stages/STAGE-2');
  await expect.poll(() => screen.queryByRole('combobox')).toBeNull();
  await user.keyboard('{Control>}k{/Control}');
  const recent = within(await screen.findByRole('group', { name: 'Recent' }));
  expect(recent.getAllByRole('option')[0]?.textContent).toMatch(/^Refunds/);
});

it('says so when nothing fits', async () => {
  const { user } = await openPalette();
  await user.type(await field(), 'zzzzzz');
  await screen.findByText('No results');
});

it('asks before it deletes, and a second Enter changes nothing', async () => {
  const { user, server } = await openPalette();
  server.answer({
    get_removal: () => ({ removal: { ...NOTHING, worktree: '/w/STAGE-1' } }),
    remove_stage: () => ({ stage: login, left: null, kept: null, deleted: [] }),
  });
  const removed = () => server.received.filter(({ command }) => command === 'remove_stage').length;
  const ask = async () => {
    await user.type(await field(), 'login form{Enter}');
    await user.type(await field(), 'delete{Enter}');
    const dialog = within(await screen.findByRole('dialog', { name: 'Delete Login form' }));
    await dialog.findByText('Its worktree is removed.');
    return dialog;
  };
  await ask();
  await expect.poll(() => document.activeElement?.textContent).toBe('Cancel');
  await user.keyboard('{Enter}');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(removed()).toBe(0);
  await user.keyboard('{Control>}k{/Control}');
  await user.click((await ask()).getByRole('button', { name: 'Delete' }));
  await expect.poll(removed).toBe(1);
});

it('sets a stage’s request aside, and lets it call again', async () => {
  const asking = board({
    stages: [{ stage: login, session: session('STAGE-1', { state: 'waiting' }) }],
    pending: [request('STAGE-1', 'r1')],
  });
  const { user, server } = await openPalette({ ...asking, me: { ...NOBODY, name: 'Ada', presentation: 'quiet' } });
  const { stageId, requestId } = request('STAGE-1', 'r1');
  server.answer({ set_later: ({ until }) => ({ later: until === null ? null : { stageId, requestId, until: null } }) });
  const sent = () => server.received.flatMap(({ command, input }) => (command === 'set_later' ? [input] : []));
  await user.type(await field(), 'login form{Enter}');
  await user.type(await field(), 'snooze{Enter}');
  await expect.poll(sent).toEqual([{ stageId, requestId }]);
  await expect.poll(() => screen.queryByRole('combobox')).toBeNull();
  await user.keyboard('{Control>}k{/Control}');
  await user.type(await field(), 'login form{Enter}');
  await expect.poll(options).toContain('Show its requests again');
  await user.type(await field(), 'show its{Enter}');
  await expect.poll(sent).toEqual([
    { stageId, requestId },
    { stageId, requestId, until: null },
  ]);
});

it('acts on the stage that is open before anything else, by words of its trade', async () => {
  onTestFinished(paletteDialog.close);
  const { user, server } = openPage(
    '/stages/STAGE-1',
    board({ stages: [{ stage: login, session: session('STAGE-1', { state: 'idle' }) }, { stage: refunds }] }),
  );
  server.answer({
    search: () => ({ results: [], next: null, indexing: null }),
    get_capabilities: () => ({ capabilities: null, from: 'stage' }),
    update_stage: () => ({ stage: { ...login, column: 'review', session: null } }),
  });
  await screen.findByRole('heading', { name: 'Login form' });
  const first = async (words: string) => {
    await user.keyboard('{Control>}k{/Control}');
    await user.type(await field(), words);
    const [found] = options();
    await user.keyboard('{Escape}');
    await expect.poll(() => screen.queryByRole('combobox', { name: 'Search or command' })).toBeNull();
    return found;
  };
  expect(await first('merge')).toMatch(/^Finish/);
  expect(await first('rename')).toMatch(/^Rename/);
  expect(await first('delete')).toMatch(/^Delete/);
  expect(await first('project settings')).toMatch(/^Settings of /);
  expect(await first('device')).toBe('Logins');
  expect(await first('log out')).toBe('Log out');
  await user.keyboard('{Control>}k{/Control}');
  await user.type(await field(), 'priority{Enter}');
  await user.type(await field(), 'urgent{Enter}');
  const sent = () => server.received.flatMap(({ command, input }) => (command === 'update_stage' ? [input] : []));
  await expect.poll(sent).toEqual([{ stageId: 'STAGE-1', patch: { priority: 0 } }]);
});
