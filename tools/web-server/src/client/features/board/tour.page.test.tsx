import { act, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { useTour } from '../../data/tour.ts';
import { openPage } from '../../test/open-page.tsx';
import { board, request, session, stage } from '../../test/samples.ts';

const view = () =>
  board({
    stages: [{ stage: stage('STAGE-1', { title: 'Login form' }), session: session('STAGE-1', { state: 'waiting' }) }],
    pending: [request('STAGE-1', 'r1')],
  });

it('offers to pull the plug on the first request, and ticks what a person does', async () => {
  const { user, server } = openPage('/?tour', view());
  server.answer({
    get_processes: () => ({ instance: '0194269f-8c00-7000-8000-000000000001', processes: [] }),
    crash: () => ({}),
  });
  const overlay = within(await screen.findByRole('dialog', { name: /^Login form/ }));
  const tour = within(await screen.findByRole('region', { name: 'Tour', hidden: true }));
  const ticked = () => tour.queryAllByRole('img', { name: 'Done', hidden: true }).length;
  expect(ticked()).toBe(0);
  expect(window.location.search).toBe('');
  await user.click(overlay.getByRole('button', { name: 'Pull the plug' }));
  await user.click(await screen.findByRole('button', { name: 'Kill Callboard' }));
  await expect.poll(ticked).toBe(1);
  expect(overlay.queryByRole('button', { name: 'Pull the plug', hidden: true })).toBeNull();
  // It is there again after a reload, with what was done.
  expect(JSON.parse(localStorage.getItem('callboard-tour') ?? '')).toEqual({ isOpen: true, done: ['plug'] });
});

it('leads to each step, and ends with the way to a repository of one’s own', async () => {
  const { user } = openPage('/?tour', board({ stages: [{ stage: stage('STAGE-1') }] }));
  const tour = within(await screen.findByRole('region', { name: 'Tour' }));
  await user.click(tour.getByRole('button', { name: 'Answer Claude' }));
  await screen.findByRole('heading', { name: /Inbox/ });
  await user.click(screen.getByRole('link', { name: 'Board' }));
  act(() => useTour.setState({ done: ['plug', 'changes', 'finish', 'start', 'answer'] }));
  const over = within(await screen.findByRole('region', { name: 'Tour' }));
  await over.findByText(/npm start -- --repo/);
  await user.click(over.getByRole('button', { name: 'Close the tour' }));
  expect(screen.queryByRole('region', { name: 'Tour' })).toBeNull();
});
