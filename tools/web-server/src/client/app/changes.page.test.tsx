import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../test/open-page.tsx';
import { at, board, session, stage } from '../test/samples.ts';

const [base, head, tree] = ['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(40)];
const worktree = { path: '/w/STAGE-1', branch: 'callboard/STAGE-1', base };

it('reads the changes again when the session takes a step, and when a person comes back to them', async () => {
  const own = stage('STAGE-1', { title: 'Login form', worktree });
  const working = session('STAGE-1', { state: 'busy' });
  const { user, server } = openPage(
    '/stages/STAGE-1?tab=changes',
    board({ stages: [{ stage: own, session: working }] }),
  );
  const diff = { base, head, tree, branch: worktree.branch, files: [], unread: [], commits: [], since: null };
  server.answer({ get_diff: () => ({ diff }) });
  const reads = () => server.received.filter(({ command }) => command === 'get_diff').length;
  await screen.findByRole('region', { name: 'Changes' });
  await expect.poll(reads).toBe(1);

  server.emit('session-updated', { ...working, costUsd: 1 }); // no step
  server.emit('session-updated', { ...working, state: 'waiting', stateSince: at(1) });
  await expect.poll(reads).toBe(2);
  const changes = { files: 1, additions: 2, deletions: 0 };
  server.emit('session-updated', { ...working, state: 'waiting', stateSince: at(1), changes });
  await expect.poll(reads).toBe(3);

  await user.click(screen.getByRole('link', { name: /Changes/ }));
  await expect.poll(reads).toBe(4);
});
