import { screen, within } from '@testing-library/react';
import { expect, it, onTestFinished } from 'vitest';
import { paletteDialog } from '../data/dialogs.ts';
import { openPage } from '../test/open-page.tsx';
import { board, session, stage } from '../test/samples.ts';

const view = board({
  stages: [
    { stage: stage('STAGE-1', { title: 'Audit log' }), session: session('STAGE-1', { state: 'idle' }) },
    { stage: stage('STAGE-2', { title: 'Refunds' }), session: session('STAGE-2', { state: 'idle' }) },
  ],
});

it('lists every key on ?, and closes the list on Escape', async () => {
  onTestFinished(paletteDialog.close);
  const { user } = openPage('/', view);
  await screen.findByRole('region', { name: 'Ready' });
  await user.keyboard('?');
  const keys = await screen.findByRole('dialog', { name: 'Keyboard shortcuts' });
  within(keys).getByText('Pick up the stage, and drop it');
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
});

it('goes to the sessions by the keys that their link names, and keeps their order in the address', async () => {
  onTestFinished(paletteDialog.close);
  const { user } = openPage('/', view);
  await screen.findByRole('region', { name: 'Ready' });
  const link = within(screen.getByRole('navigation', { name: 'Pages' })).getByRole('link', { name: 'Sessions' });
  expect(link.title).toBe('Go to the sessions (G S)');
  await user.keyboard('gs');
  await screen.findByRole('heading', { name: 'Sessions' });
  await user.click(await screen.findByRole('button', { name: 'Cost' }));
  await expect.poll(() => location.search).toBe('?sort=cost&order=down');
  const header = () => screen.getByRole('columnheader', { name: 'Cost' }).getAttribute('aria-sort');
  await expect.poll(header).toBe('descending');
  screen.getByRole('link', { name: 'Audit log' });
});
