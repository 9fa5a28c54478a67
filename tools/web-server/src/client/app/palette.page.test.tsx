import { screen, within } from '@testing-library/react';
import { expect, it, onTestFinished } from 'vitest';
import { openPage } from '../test/open-page.tsx';
import { board, session, stage } from '../test/samples.ts';
import { closeFrameUi } from './frame-store.ts';

const login = stage('STAGE-1', { title: 'Login form' });
const refunds = stage('STAGE-2', { title: 'Refunds' });
const options = () => screen.getAllByRole('option').map((option) => option.textContent);
const field = () => screen.findByRole('combobox', { name: 'Search or command' });

async function openPalette(view = board({ stages: [{ stage: login }, { stage: refunds }] })) {
  onTestFinished(closeFrameUi);
  const opened = openPage('/', view);
  await screen.findByRole('region', { name: 'Ready' });
  await opened.user.keyboard('{Control>}k{/Control}');
  await field();
  return opened;
}

it('finds a stage by a few letters, shows its actions, and starts it', async () => {
  const { user, server } = await openPalette();
  server.answer({ start_stage: () => ({ stage: { ...login, column: 'running', session: null } }) });
  await user.type(await field(), 'lgnform{Enter}');
  expect(options()).toEqual(['Open', 'Start']);
  await user.type(await field(), 'start{Enter}');
  await expect.poll(() => server.received).toMatchObject([{ command: 'start_stage', input: { stageId: 'STAGE-1' } }]);
  await expect.poll(() => screen.queryByRole('combobox', { name: 'Search or command' })).toBeNull();
});

it('does nothing to a stage on one Enter, and goes back on Backspace', async () => {
  const { user, server } = await openPalette(
    board({ stages: [{ stage: login, session: session('STAGE-1', { state: 'idle' }) }] }),
  );
  await user.type(await field(), 'login{Enter}');
  expect(options()).toEqual(['Open', 'Open changes', 'Complete...']);
  await user.keyboard('{Backspace}');
  expect(options()).toContain('InboxG I');
  expect(server.received).toEqual([]);
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
