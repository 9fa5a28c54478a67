import { type FileDiff, ReviewComment, SideRun } from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { screen, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openPage } from '../test/open-page.tsx';
import { at, board, session, stage } from '../test/samples.ts';

beforeEach(() => localStorage.clear());
afterEach(() => notifications.clean());

const [base, head, tree] = ['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(40)];
const worktree = { path: '/w/STAGE-1', branch: 'callboard/STAGE-1', base };
const RUN = '0198f3a2-7c1b-4d1e-9a53-5b8f0c2d4e61';

const finding = (id: string, fields: Record<string, unknown> = {}): ReviewComment =>
  ReviewComment.parse({
    ...{ id, stageId: 'STAGE-1', author: 'Claude', isFinding: true, severity: 'high', path: 'a.ts', side: 'new' },
    ...{ line: 1, endLine: 1, version: '2'.repeat(16), quote: 'one', text: `Finding ${id}`, state: 'draft' },
    ...{ hasMoved: false, createdAt: at(0), sentAt: null, sentBy: null, messageId: null, answeredAt: null },
    ...{ isMine: true, ...fields },
  });
const run = (fields: Record<string, unknown> = {}): SideRun =>
  SideRun.parse({
    ...{ id: RUN, stageId: 'STAGE-1', kind: 'review', state: 'running', by: 'Ada', phaseIndex: null },
    ...{ createdAt: at(0), startedAt: at(0), endedAt: null, reason: null, diff: null, costUsd: null },
    ...{ summary: null, findings: 0, misplaced: [], text: null, ...fields },
  });
const done = { state: 'done', endedAt: at(1), costUsd: 0.12 };
const file: FileDiff = {
  ...{ path: 'a.ts', oldPath: null, status: 'modified', oldMode: '100644', newMode: '100644', additions: 1 },
  ...{ deletions: 0, isBinary: false, version: `${'1'.repeat(16)}..${'2'.repeat(16)}`, isGenerated: false },
};

async function show(comments: ReviewComment[] = [], address = '') {
  const own = stage('STAGE-1', { title: 'Login form', worktree });
  const ended = { state: 'idle', lastTurn: { outcome: 'succeeded', message: '', at: own.createdAt } };
  const { user, server } = openPage(
    `/stages/STAGE-1?tab=changes${address}`,
    board({ stages: [{ stage: own, session: session('STAGE-1', ended) }] }),
  );
  const diff = { base, head, tree, branch: worktree.branch, files: [file], unread: [], commits: [], since: null };
  let runs: SideRun[] = [];
  server.answer({
    get_diff: ({ path }) => ({
      diff: path === undefined ? diff : { ...diff, files: [{ ...file, patch: '@@ -0,0 +1 @@\n+one\n' }] },
    }),
    get_comments: () => ({ comments }),
    get_viewed: () => ({ viewed: {} }),
    get_side_runs: () => ({ runs }),
    start_side_run: ({ kind }) => {
      const begun = run({ kind, state: 'waiting', startedAt: null });
      runs = [begun, ...runs];
      return { run: begun };
    },
    stop_side_run: () => ({ run: run({ state: 'stopped', reason: 'Stopped by Ada.', endedAt: at(1) }) }),
    send_comments: () => ({ message: { status: 'sent', messageId: RUN }, comments: [] }) as never,
  });
  const bar = within(await screen.findByRole('region', { name: 'Comments' }));
  const sent = (command: string) => server.received.filter((one) => one.command === command).map((one) => one.input);
  return { user, server, bar, sent };
}

it('asks Claude for a review, and shows its verdict with what has no place in the changes', async () => {
  const { user, server, bar, sent } = await show();
  await user.click(await bar.findByRole('button', { name: 'Ask Claude to review' }));
  expect(sent('start_side_run')).toEqual([{ stageId: 'STAGE-1', kind: 'review' }]);
  await bar.findByText(/Claude reviews the changes/);
  expect(bar.queryByRole('button', { name: /review/i })).toBeNull();
  const misplaced = [
    {
      ...{ path: 'gone.ts', side: 'new', line: 7, severity: 'low', text: 'Delete it.' },
      why: 'There is no text file gone.ts.',
    },
  ];
  server.emit('side-run-updated', run({ ...done, summary: 'One fault.', findings: 1, misplaced }));
  await bar.findByText('One fault.');
  await user.click(bar.getByRole('button', { name: '1 finding has no place in the changes' }));
  expect(bar.getByRole('listitem').textContent).toBe('gone.ts, line 7: Delete it. There is no text file gone.ts.');
  bar.getByRole('button', { name: 'Review again' });
});

it('says why there is no review, and stops one', async () => {
  const { user, server, bar, sent } = await show();
  await user.click(await bar.findByRole('button', { name: 'Ask Claude to review' }));
  await user.click(await bar.findByRole('button', { name: 'Stop' }));
  expect(sent('stop_side_run')).toEqual([{ stageId: 'STAGE-1', runId: RUN }]);
  await bar.findByText('Review stopped');
  const reason = 'Claude did not answer in the form that was asked for. It said: fine.';
  server.emit('side-run-updated', run({ state: 'failed', reason, endedAt: at(2) }));
  await bar.findByText('Review failed');
  bar.getByText(reason);
  bar.getByRole('button', { name: 'Review again' });
});

it('sends only the findings and comments that are chosen', async () => {
  const { user, bar, sent } = await show([
    finding('f1'),
    finding('f2', { line: 2, endLine: 2 }),
    finding('f3', { state: 'sent', sentAt: at(1), isMine: false }),
  ]);
  await user.click(await bar.findByRole('button', { name: /^3 comments/ }));
  const boxes = bar.getAllByRole('checkbox');
  expect(boxes.map((box) => box.getAttribute('aria-label'))).toEqual([
    'Send the comment on line 1 of a.ts',
    'Send the comment on line 2 of a.ts',
  ]);
  bar.getByRole('button', { name: 'Ask for changes (2 comments)' });
  for (const box of boxes) await user.click(box);
  expect(bar.getByRole('button', { name: 'Ask for changes (0 comments)' })).toHaveProperty('disabled', true);
  await user.click(boxes[1] as HTMLElement);
  await user.click(bar.getByRole('button', { name: 'Ask for changes (1 comment)' }));
  await expect.poll(() => sent('send_comments')).toEqual([{ stageId: 'STAGE-1', ids: ['f2'] }]);
});

it('shows a comment that the address names if the changes have no place for it', async () => {
  await show([finding('f3', { path: 'gone.ts', line: 7, endLine: 7 })], '&comment=f3');
  const changes = within(screen.getByRole('region', { name: 'Changes' }));
  await changes.findByText(/on line 7 of gone\.ts, which is not among the changes now/);
  changes.getAllByText('Finding f3');
});

it('says that the comment that the address names is gone', async () => {
  await show([finding('f1')], '&comment=f9');
  await screen.findByText('This comment was removed.');
});
