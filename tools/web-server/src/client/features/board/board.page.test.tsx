import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, session, stage } from '../../test/samples.ts';

it('shows a stage in its column, and starts it', async () => {
  const ready = stage('STAGE-1', { title: 'Login form' });
  const { user, server } = openPage('/', board({ stages: [{ stage: ready }] }));
  const column = await screen.findByRole('region', { name: 'Ready' });
  server.answer({ start_stage: () => ({ stage: { ...ready, column: 'running', session: null } }) });
  await user.click(await within(column).findByRole('button', { name: 'Start' }));
  await expect.poll(() => server.received).toMatchObject([{ command: 'start_stage', input: { stageId: 'STAGE-1' } }]);
});

it('says why a stage does not start, and keeps it where it is', async () => {
  const { user, server } = openPage('/', board({ stages: [{ stage: stage('STAGE-1') }] }));
  server.answer({ start_stage: () => problem('waits_for_dependency', 'The disk is nearly full.') });
  const column = await screen.findByRole('region', { name: 'Ready' });
  await user.click(await within(column).findByRole('button', { name: 'Start' }));
  await screen.findByText(/The disk is nearly full/);
  await within(column).findByRole('button', { name: 'Start' });
});

it('moves a stage when an event says so', async () => {
  const ready = stage('STAGE-1', { title: 'Login form' });
  const { server } = openPage('/', board({ stages: [{ stage: ready }] }));
  await within(await screen.findByRole('region', { name: 'Ready' })).findByText('Login form');
  server.emit('stage-updated', { stageId: ready.id, stage: { ...ready, completedAt: ready.createdAt } });
  await within(screen.getByRole('region', { name: 'Done' })).findByText('Login form');
});

it('says on the row of a finished stage that Claude’s review after the last phase has no result', async () => {
  const review = { runId: '0198f3a2-7c1b-4d1e-9a53-5b8f0c2d4e61', state: 'failed', findings: 0, since: at(1) };
  const lastTurn = { outcome: 'succeeded', message: '', at: at(0) };
  const changes = { files: 1, additions: 2, deletions: 0 };
  const ended = session('STAGE-1', { state: 'idle', lastTurn, changes, review });
  openPage('/', board({ stages: [{ stage: stage('STAGE-1'), session: ended }] }));
  await screen.findByRole('img', { name: 'Review failed, 1 file changed, 2 lines added, 0 removed' });
});

it('opens a phone at the first column that has something, and moves no more by itself', async () => {
  const { server } = openPage('/', board({ stages: [{ stage: stage('STAGE-1', { title: 'Cart' }) }] }));
  const chosen = () => screen.getByRole('tab', { selected: true }).textContent;
  await screen.findByRole('tablist', { name: 'Column shown' });
  await expect.poll(chosen).toBe('Ready 1');
  const other = stage('STAGE-2');
  server.emit('stage-created', { stageId: other.id, stage: other });
  server.emit('session-updated', session('STAGE-2', { state: 'failed' }));
  await expect.poll(() => screen.getByRole('tab', { name: /^Needs you/ }).textContent).toBe('Needs you 1');
  expect(chosen()).toBe('Ready 1');
});
