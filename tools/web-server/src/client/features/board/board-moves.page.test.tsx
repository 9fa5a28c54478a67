import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { at, board, session, stage } from '../../test/samples.ts';

const column = (name: string) => screen.findByRole('region', { name });
const focused = () => document.activeElement?.textContent;
const search = stage('STAGE-1', { title: 'Search index' });

it('treats a drop by keys as a command, refuses it with an explanation elsewhere, and keeps the focus on the row', async () => {
  const { user, server } = openPage('/', board({ stages: [{ stage: search }] }));
  const link = await within(await column('Ready')).findByRole('link', { name: 'Search index' });
  link.focus();
  await user.keyboard(' ');
  await screen.findByText('Search index is lifted from Ready.');
  await user.keyboard('{ArrowLeft}');
  await screen.findAllByText(/Edit it to put it on hold/);
  await user.keyboard(' ');
  await screen.findByText('Nothing was changed');
  expect(server.received).toEqual([]);
  await expect.poll(focused).toBe('Search index');

  const busy = session('STAGE-1', { state: 'busy' });
  server.answer({ start_stage: () => ({ stage: { ...search, column: 'running', session: busy } }) });
  await user.keyboard(' {ArrowRight}');
  await within(await column('Running')).findByText('Drop to start it');
  await user.keyboard(' ');
  await expect.poll(() => server.received).toMatchObject([{ command: 'start_stage', input: { stageId: 'STAGE-1' } }]);
  server.emit('session-updated', busy);
  await within(await column('Running')).findByRole('link', { name: 'Search index' });
  await expect.poll(focused).toBe('Search index'); // the focus has moved along
});

it('moves from card to card by arrow keys, unless a card is lifted, and shows on a card what its stage has changed', async () => {
  const lastTurn = { outcome: 'succeeded', at: at(1), message: null, code: null };
  const changes = { files: 1, additions: 2, deletions: 0 };
  const stages = [
    {
      stage: stage('STAGE-1', { title: 'Makes a file' }),
      session: session('STAGE-1', { state: 'idle', lastTurn, changes }),
    },
    { stage: stage('STAGE-2', { title: 'First', priority: 0 }) },
    { stage: stage('STAGE-3', { title: 'Second', priority: 1 }) },
  ];
  const { user, server } = openPage('/', board({ stages }));
  const review = within(await column('Review'));
  review.getByRole('img', { name: '1 file changed, 2 lines added, 0 removed' });
  const press = async (key: string, lands: string) => {
    await user.keyboard(`{${key}}`);
    await expect.poll(focused).toBe(lands);
  };
  (await screen.findByRole('link', { name: 'First' })).focus();
  await press('ArrowDown', 'Second');
  await press('ArrowRight', 'Makes a file');
  await press('ArrowRight', 'Makes a file');
  await press('ArrowLeft', 'First');
  await press('End', 'Second');
  await press('ArrowUp', 'First');

  // While a card is lifted, the same keys move it.
  await user.keyboard(' ');
  await screen.findByText('First is lifted from Ready.');
  await user.keyboard('{ArrowRight}');
  await screen.findAllByText('Drop to start it');
  await user.keyboard('{Escape}');
  await expect.poll(() => document.querySelector('[data-dragging="true"]')).toBeNull();
  await expect.poll(focused).toBe('First');
  expect(server.received).toEqual([]);
  await user.keyboard('{Enter}');
  await expect.poll(() => location.pathname).toBe('/stages/STAGE-2');
});
