import { act, screen, within } from '@testing-library/react';
import { expect, it, onTestFinished } from 'vitest';
import { completeDialog, deleteDialog, paletteDialog } from '../data/dialogs.ts';
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

it('shows the board as a list by the keys G S, and keeps its order in the address', async () => {
  onTestFinished(paletteDialog.close);
  const { user } = openPage('/', view);
  await screen.findByRole('region', { name: 'Ready' });
  await user.keyboard('gs');
  await user.click(await screen.findByRole('button', { name: 'Cost' }));
  await expect.poll(() => location.search).toBe('?view=list&sort=cost&order=down');
  const header = () => screen.getByRole('columnheader', { name: 'Cost' }).getAttribute('aria-sort');
  await expect.poll(header).toBe('descending');
  screen.getByRole('link', { name: 'Audit log' });
});

it('finishes, renames and deletes the stage that has the focus, and shows its tabs, each by a key', async () => {
  onTestFinished(() => {
    completeDialog.close();
    deleteDialog.close();
  });
  const { user, server } = openPage('/', view);
  server.answer({ update_stage: () => ({ stage: { ...stage('STAGE-1'), column: 'review', session: null } }) });
  const card = await screen.findByRole('link', { name: 'Audit log' });
  act(() => card.focus());
  await user.keyboard('{F2}');
  const dialog = within(await screen.findByRole('dialog', { name: 'Rename' }));
  await user.clear(dialog.getByRole('textbox', { name: 'Title' }));
  await user.keyboard('Audit trail{Enter}');
  const sent = () => server.received.flatMap(({ command, input }) => (command === 'update_stage' ? [input] : []));
  await expect.poll(sent).toEqual([{ stageId: 'STAGE-1', patch: { title: 'Audit trail' } }]);
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  act(() => card.focus());
  await user.keyboard('{Delete}');
  await screen.findByRole('dialog', { name: /^Delete/ });
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  act(() => card.focus());
  await user.keyboard('{Enter}');
  await screen.findByRole('link', { name: 'Changes' });
  await user.keyboard('2');
  await expect.poll(() => location.search).toBe('?tab=changes');
  await user.keyboard('1');
  await expect.poll(() => location.search).toBe('');
  await user.keyboard('{Shift>}M{/Shift}');
  await screen.findByRole('dialog');
});

it('opens the same menu by a right click on a card as by its button', async () => {
  const { user } = openPage('/', view);
  const card = await screen.findByRole('article', { name: 'Audit log' });
  await user.pointer({ keys: '[MouseRight]', target: card });
  const items = await screen.findAllByRole('menuitem', { hidden: true });
  const names = items.map(({ textContent }) => textContent);
  expect(names).toEqual(expect.arrayContaining(['OpenEnter', 'FinishShift M', 'RenameF2', 'DeleteDelete']));
});
