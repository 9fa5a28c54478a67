import { MessageId, type ReviewComment, SideRun, StageId } from '@callboard/contract';
import { cleanup, fireEvent, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { fileDiff, openChanges, reviewComment, stageDiff } from '../../test/open-changes.ts';
import { at } from '../../test/samples.ts';

const RUN = '0198f3a2-7c1b-4d1e-9a53-5b8f0c2d4e61';

const finding = (id: string, fields: Record<string, unknown> = {}): ReviewComment =>
  reviewComment(id, { author: 'Claude', isFinding: true, severity: 'high', text: `Finding ${id}`, ...fields });
const run = (fields: Record<string, unknown> = {}): SideRun =>
  SideRun.parse({
    id: RUN,
    stageId: 'STAGE-1',
    kind: 'review',
    state: 'running',
    by: 'Ada',
    phaseIndex: null,
    createdAt: at(0),
    startedAt: at(0),
    endedAt: null,
    reason: null,
    diff: null,
    costUsd: null,
    summary: null,
    findings: 0,
    misplaced: [],
    text: null,
    ...fields,
  });
const done = { state: 'done', endedAt: at(1), costUsd: 0.12 };

async function show(comments: ReviewComment[] = [], address = '') {
  const patches = { 'a.ts': '@@ -0,0 +1 @@\n+one\n' };
  const { changes, server, ...page } = await openChanges(stageDiff([fileDiff('a.ts')]), patches, address);
  let runs: SideRun[] = [];
  server.answer({
    get_comments: () => ({ comments }),
    get_side_runs: () => ({ runs }),
    start_side_run: ({ kind }) => {
      const begun = run({ kind, state: 'waiting', startedAt: null });
      runs = [begun, ...runs];
      return { run: begun };
    },
    stop_side_run: () => ({ run: run({ state: 'stopped', reason: 'Stopped by Ada.', endedAt: at(1) }) }),
    send_comments: () => ({ message: { status: 'sent', messageId: RUN }, comments: [] }) as never,
  });
  return { ...page, server, changes, bar: within(await changes.findByRole('region', { name: 'Comments' })) };
}

/** A server that keeps comments, as for a file of which the first line was replaced by four. */
async function showComments(comments: ReviewComment[] = []) {
  const patch = '@@ -1,2 +1,5 @@\n-zero\n+one\n+two\n+three\n+four\n rest\n';
  const page = await openChanges(stageDiff([fileDiff('a.ts')]), { 'a.ts': patch });
  const { server, changes } = page;
  let saved = comments;
  const change = (id: string, fields: Partial<ReviewComment>): ReviewComment => {
    saved = saved.map((one) => (one.id === id ? { ...one, ...fields } : one));
    return saved.find((one) => one.id === id) ?? reviewComment(id, fields);
  };
  server.answer({
    get_comments: () => ({ comments: saved }),
    add_comment: ({ commentId, path, side, line, endLine = line, text }) => {
      const comment = reviewComment(String(commentId), { path, side, line, endLine, text });
      saved = [...saved.filter(({ id }) => id !== comment.id), comment];
      return { comment };
    },
    edit_comment: ({ commentId, text }) => ({ comment: change(commentId, { text }) }),
    remove_comment: ({ commentId }) => {
      const comment = change(commentId, {});
      saved = saved.filter(({ id }) => id !== commentId);
      return { comment };
    },
    send_comments: ({ ids = [] }) => ({
      message: { status: 'sent', messageId: MessageId.parse(RUN) },
      comments: ids.map((id) => change(id, { state: 'sent', sentAt: at(1), isMine: false })),
    }),
  });
  const list = within(await changes.findByRole('region', { name: 'Changed files' }));
  await list.findByText('two');
  /** The server changes comments without this page. */
  const become = (id: string, fields: Partial<ReviewComment>) => {
    change(id, fields);
    server.emit('comments-updated', { stageId: StageId.parse('STAGE-1') });
  };
  return { ...page, list, become, stored: () => saved };
}

it('asks Claude for a review, and shows its verdict with what has no place in the changes', async () => {
  const { user, server, bar, sent } = await show();
  await user.click(await bar.findByRole('button', { name: 'Ask Claude to review' }));
  expect(sent('start_side_run')).toEqual([{ stageId: 'STAGE-1', kind: 'review' }]);
  await bar.findByText(/Claude is reviewing the changes/);
  expect(bar.queryByRole('button', { name: /review/i })).toBeNull();
  const misplaced = [
    {
      path: 'gone.ts',
      side: 'new',
      line: 7,
      severity: 'low',
      text: 'Delete it.',
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
  bar.getByRole('button', { name: 'Try again' });
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
  const { changes } = await show([finding('f3', { path: 'gone.ts', line: 7, endLine: 7 })], '&comment=f3');
  await changes.findByText(/on line 7 of gone\.ts, which is not among the changes now/);
  changes.getAllByText('Finding f3');
});

it('says that the comment that the address names is gone', async () => {
  const { changes } = await show([finding('f1')], '&comment=f9');
  await changes.findByText('This comment was removed.');
});

it('comments on a line, on a range and on the former version', async () => {
  const { user, list, sent } = await showComments();
  await user.click(list.getByRole('button', { name: 'Comment on line 2' }));
  await user.type(list.getByRole('textbox', { name: 'Comment on line 2' }), 'Why two?');
  await user.keyboard('{Control>}{Enter}{/Control}');
  await list.findByRole('article', { name: /^Comment of .* on line 2: Draft$/ });
  // With Shift from the line in hand, and upwards.
  await user.keyboard('{Shift>}');
  await user.click(list.getByRole('button', { name: 'Comment on line 4' }));
  await user.keyboard('{/Shift}');
  await user.type(list.getByRole('textbox', { name: 'Comment on lines 2 to 4' }), 'Too many');
  await user.click(list.getByRole('button', { name: 'Add comment' }));
  await list.findByText('Too many');
  await user.click(list.getByRole('button', { name: 'Comment on line 2 of the former version' }));
  await user.type(list.getByRole('textbox', { name: 'Comment on line 2, before' }), 'Keep it');
  await user.click(list.getByRole('button', { name: 'Add comment' }));
  await list.findByText('Keep it');
  const { base, tree } = stageDiff([]);
  const added = { path: 'a.ts', base, tree, commentId: expect.any(String) };
  expect(sent('add_comment')).toMatchObject([
    { ...added, side: 'new', line: 2, endLine: 2, text: 'Why two?' },
    { ...added, side: 'new', line: 2, endLine: 4, text: 'Too many' },
    { ...added, side: 'old', line: 2, endLine: 2, text: 'Keep it' },
  ]);
  // Each stands below its last line.
  const rows = list.getAllByText(/^(zero|one|two|three|four|rest|Why two\?|Too many|Keep it)$/);
  expect(rows.map((row) => row.textContent)).toEqual([
    ...['zero', 'one', 'two', 'Why two?', 'three', 'four', 'Too many', 'rest', 'Keep it'],
  ]);
});

it('keeps what is being written as a draft when the page is closed at once, and shows it when it is opened again', async () => {
  const { user, list, sent, stored } = await showComments();
  await user.click(list.getByRole('button', { name: 'Comment on line 3' }));
  fireEvent.change(list.getByRole('textbox'), { target: { value: 'Half a thought' } });
  fireEvent(window, new Event('pagehide'));
  cleanup();
  await expect.poll(() => sent('add_comment')[0]).toMatchObject({ line: 3, text: 'Half a thought' });
  const again = await showComments(stored());
  await again.list.findByRole('article', { name: /on line 3: Draft$/ });
  again.list.getByText('Half a thought');
});

it('edits a draft, asks before a text is lost, and removes a draft', async () => {
  const { user, list, sent } = await showComments([reviewComment('c1', { line: 2, endLine: 2, text: 'Why two?' })]);
  await user.click(await list.findByRole('button', { name: 'Edit the comment' }));
  const field = list.getByRole('textbox', { name: 'Comment on line 2' });
  expect(field).toHaveProperty('value', 'Why two?');
  await user.clear(field);
  await user.type(field, 'Why not three?{Escape}');
  await list.findByText('Discard what you changed?');
  await user.click(list.getByRole('button', { name: 'Keep writing' }));
  await user.click(list.getByRole('button', { name: /^Save/ }));
  await list.findByText('Why not three?', { selector: 'p *, p' });
  expect(sent('edit_comment').at(-1)).toMatchObject({ commentId: 'c1', text: 'Why not three?' });

  await user.click(list.getByRole('button', { name: 'Remove the comment' }));
  await user.click(list.getByRole('button', { name: 'Keep' }));
  expect(sent('remove_comment')).toEqual([]);
  await user.click(list.getByRole('button', { name: 'Remove the comment' }));
  await user.click(list.getByRole('button', { name: 'Remove' }));
  await expect.poll(() => list.queryByRole('article')).toBeNull();
  expect(sent('remove_comment')).toEqual([{ stageId: 'STAGE-1', commentId: 'c1' }]);
});

it('sends drafts as one message, what is still being written too, and follows what becomes of them', async () => {
  const { user, list, changes, sent, stored, become } = await showComments([reviewComment('c1')]);
  await list.findByText('Comment c1');
  await user.click(list.getByRole('button', { name: 'Comment on line 4' }));
  await user.type(list.getByRole('textbox'), 'And four');
  // Stored after a pause, and then one of those to send.
  await user.click(await changes.findByRole('button', { name: 'Ask for changes (2 comments)' }));
  const ids = stored().map(({ id }) => id);
  expect(stored().map(({ text }) => text)).toEqual(['Comment c1', 'And four']);
  await expect.poll(() => sent('send_comments')).toEqual([{ stageId: 'STAGE-1', ids }]);
  const stateOf = (lines: string) =>
    list.getByRole('article', { name: new RegExp(` on ${lines}: `) }).getAttribute('aria-label');
  await expect.poll(() => stateOf('line 4')).toMatch(/: Sent$/);
  expect(changes.queryByRole('button', { name: /^Ask for changes/ })).toBeNull();
  expect(list.queryByRole('button', { name: 'Edit the comment' })).toBeNull();

  become('c1', { state: 'answered', answeredAt: at(2) });
  await expect.poll(() => stateOf('line 1')).toMatch(/: Claude replied$/);
  become('c1', { state: 'outdated', hasMoved: true, quote: 'what stood there' });
  await expect.poll(() => stateOf('line 1')).toMatch(/: Answered$/);
  list.getByText('what stood there');
  changes.getByRole('button', { name: /^2 comments1 sent, 1 outdated/ });
});
