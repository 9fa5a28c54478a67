import { MergePlan, MessageId, StageId, type StageView } from '@callboard/contract';
import { act, fireEvent, screen, within } from '@testing-library/react';
import { expect, it, onTestFinished } from 'vitest';
import { completeDialog } from '../../data/dialogs.ts';
import { fileDiff, stageDiff } from '../../test/open-changes.ts';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, session, stage } from '../../test/samples.ts';

const worktree = { path: '/w/STAGE-1', branch: 'callboard/STAGE-1', base: 'f'.repeat(40) };
const [head, tree] = ['a'.repeat(40), 'b'.repeat(40)];
const plan = (fields: Partial<MergePlan> = {}): MergePlan =>
  MergePlan.parse({
    branch: worktree.branch,
    head,
    tree,
    into: 'main',
    commits: 1,
    files: 3,
    uncommitted: [],
    uncommittedCount: 0,
    conflicts: [],
    refusal: null,
    ...fields,
  });
const merged = {
  method: 'merge' as const,
  commit: '3f2a1c7'.padEnd(40, '0'),
  into: 'main',
  branch: worktree.branch,
  head,
  previous: 'c'.repeat(40),
  commits: 1,
  files: 3,
  at: '2026-01-02T03:04:05.000Z',
  pullRequest: null,
};
const done = (of: StageView, fields: Partial<StageView> = {}): StageView => ({
  ...of,
  column: 'done',
  completedAt: of.createdAt,
  ...fields,
});

/** Opens the page with one stage in Review, and answers what its work is. */
function open(
  path: string,
  answer: MergePlan | null,
  fields: Record<string, unknown> = { worktree },
  more: Record<string, unknown> = {},
) {
  const own = stage('STAGE-1', { title: 'Login form', ...fields });
  const ended = { state: 'idle', lastTurn: { outcome: 'succeeded', message: '', at: own.createdAt }, ...more };
  const isDone = own.completedAt !== null;
  const summary = fields.worktree === null ? {} : { session: session('STAGE-1', ended) };
  const view = board({ stages: [{ stage: own, ...summary }] });
  const [seen] = view.stages;
  if (seen === undefined) throw new Error('the board is empty');
  const page = openPage(path, view);
  page.server.answer({
    get_completion: ({ method = 'merge' }) => ({
      completion: { plan: answer && { ...answer, method }, undo: isDone ? { refusal: null } : null },
    }),
    complete_stage: () => ({ stage: done(seen, { merged }) }),
    undo_completion: () => ({ stage: seen }),
  });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map((one) => one.input);
  return { ...page, sent, own };
}

/** What the card menu, a drop on Done and the palette do. */
const openDialog = async () => {
  await screen.findByRole('region', { name: 'Done' });
  act(() => completeDialog.open(StageId.parse('STAGE-1')));
  return screen.findByRole('dialog', { name: 'Finish Login form' });
};

it('merges what was shown from the board, says so with the hash, and takes it back', async () => {
  const { user, sent } = open('/', plan());
  const dialog = await openDialog();
  await within(dialog).findByText('Merge callboard/STAGE-1 (1 commit, 3 files) into main. No conflicts.');
  expect(sent('complete_stage')).toEqual([]);
  await user.click(within(dialog).getByRole('button', { name: 'Merge into main' }));
  await screen.findByText('merged 3f2a1c7 into main');
  expect(sent('complete_stage')).toEqual([{ stageId: 'STAGE-1', merge: 'merge', head, tree }]);
  await user.click(screen.getByRole('button', { name: 'Undo' }));
  await expect.poll(() => sent('undo_completion')).toEqual([{ stageId: 'STAGE-1' }]);
});

it('takes the notice of a merge back when somebody undoes the merge elsewhere', async () => {
  const { user, server, own } = open('/', plan());
  const dialog = await openDialog();
  await user.click(await within(dialog).findByRole('button', { name: 'Merge into main' }));
  await screen.findByText('merged 3f2a1c7 into main');
  server.emit('stage-updated', { stageId: own.id, stage: { ...own, completedAt: own.createdAt, merged } });
  await within(screen.getByRole('region', { name: 'Done' })).findByText('Login form');
  screen.getByText('Login form is done');
  server.emit('stage-updated', { stageId: own.id, stage: own });
  await expect.poll(() => screen.queryByText('Login form is done')).toBeNull();
});

it('commits uncommitted work with a message that can be edited, and names what would be left', async () => {
  const uncommitted = plan({ uncommitted: ['a.ts', 'b.ts'], uncommittedCount: 2, commits: 0, files: 2 });
  const { user, sent } = open('/', uncommitted);
  const dialog = await openDialog();
  await within(dialog).findByText(/2 files with uncommitted changes \(a.ts, b.ts\) would stay/);
  const message = within(dialog).getByRole('textbox', { name: 'Commit message' });
  await user.clear(message);
  expect(within(dialog).getByRole('button', { name: 'Commit and merge into main' })).toHaveProperty('disabled', true);
  await user.type(message, 'Add the form');
  await user.click(within(dialog).getByRole('button', { name: 'Commit and merge into main' }));
  await expect
    .poll(() => sent('complete_stage'))
    .toEqual([{ stageId: 'STAGE-1', merge: 'merge', head, tree, commit: { message: 'Add the form' } }]);
});

it('asks once before a stage that never ran is completed', async () => {
  const { user, sent } = open('/', null, { worktree: null });
  const dialog = await openDialog();
  await within(dialog).findByText('Login form was never started.');
  await user.click(within(dialog).getByRole('button', { name: 'Finish' }));
  await expect.poll(() => sent('complete_stage')).toEqual([{ stageId: 'STAGE-1' }]);
});

it('shows a refusal where the action is, and reads the changes again', async () => {
  const { user, server, sent } = open('/stages/STAGE-1', plan());
  server.answer({ complete_stage: () => problem('head_moved', 'Since you looked, files have changed.') });
  await user.click(await screen.findByRole('button', { name: 'Finish' }));
  const dialog = await screen.findByRole('dialog', { name: 'Finish Login form' });
  const reads = sent('get_completion').length;
  await user.click(await within(dialog).findByRole('button', { name: 'Merge into main' }));
  await within(dialog).findByText('Since you looked, files have changed.');
  await expect.poll(() => sent('get_completion').length).toBeGreaterThan(reads);
});

it('offers no commit where the main checkout has no branch to merge into', async () => {
  const refusal = 'The main checkout at /w is not on a branch.';
  const { user } = open('/stages/STAGE-1', plan({ into: null, refusal, uncommitted: ['a'], uncommittedCount: 1 }));
  await user.click(await screen.findByRole('button', { name: 'Finish' }));
  const dialog = within(await screen.findByRole('dialog'));
  await dialog.findByText(refusal);
  expect(dialog.getByRole('button', { name: 'Check again' })).toBeDefined();
  expect(dialog.queryByRole('button', { name: 'Ask Claude to commit' })).toBeNull();
});

it('gives a conflict to Claude with its files', async () => {
  const { user, server, sent } = open('/stages/STAGE-1', plan({ conflicts: ['README.md'] }));
  server.answer({ send_message: ({ messageId }) => ({ status: 'sent', messageId: messageId ?? '' }) as never });
  await user.click(await screen.findByRole('button', { name: 'Finish' }));
  const dialog = await screen.findByRole('dialog');
  await within(dialog).findByText('callboard/STAGE-1 and main change the same lines in a file:');
  within(dialog).getByText('README.md');
  expect(within(dialog).queryByRole('button', { name: /Merge into/ })).toBeNull();
  await user.click(within(dialog).getByRole('button', { name: 'Give the conflict to Claude' }));
  await expect
    .poll(() => sent('send_message'))
    .toMatchObject([{ message: expect.stringMatching(/Merge main[\s\S]*\n- README\.md$/) }]);
});

it('tells merged work from work that is only done, and offers the ways back', async () => {
  const isDone = { worktree, completedAt: '2026-01-02T03:04:05.000Z' };
  const { user, sent } = open('/stages/STAGE-1', plan({ commits: 0 }), { ...isDone, merged });
  const outcome = await screen.findByText('merged 3f2a1c7 into main');
  expect(outcome.dataset.tone).toBe('merged');
  expect(screen.getByRole('button', { name: 'Reopen' })).toBeDefined();
  await user.click(await screen.findByRole('button', { name: 'Undo merge' }));
  await expect.poll(() => sent('undo_completion')).toHaveLength(1);
});

it('merges a done stage later', async () => {
  const isDone = { worktree, completedAt: '2026-01-02T03:04:05.000Z' };
  const { user, sent } = open('/stages/STAGE-1', plan(), isDone);
  expect((await screen.findByText('not merged')).dataset.tone).toBe('plain');
  await user.click(screen.getByRole('button', { name: 'Merge' }));
  const dialog = await screen.findByRole('dialog', { name: 'Merge Login form' });
  expect(within(dialog).queryByRole('button', { name: /^Finish/ })).toBeNull();
  await user.click(await within(dialog).findByRole('button', { name: 'Merge into main' }));
  await expect.poll(() => sent('complete_stage')).toMatchObject([{ merge: 'merge' }]);
});

it('squashes with a message that was drafted, and remembers the way for the project', async () => {
  const { user, server, sent } = open('/', plan({ commits: 2, message: 'Login form\n\n* One\n* Two' }));
  server.answer({ complete_stage: () => problem('merge_refused', 'main has moved on.') });
  const dialog = await openDialog();
  await within(dialog).findByRole('button', { name: 'Merge into main' });
  expect(within(dialog).queryByRole('textbox')).toBeNull();
  await user.click(within(dialog).getByRole('radio', { name: 'Squash' }));
  await within(dialog).findByText(
    'Squash callboard/STAGE-1 (2 commits, 3 files) into one commit on main. No conflicts.',
  );
  const message = within(dialog).getByRole<HTMLTextAreaElement>('textbox', { name: 'Commit message' });
  expect(message.value).toBe('Login form\n\n* One\n* Two');
  await user.type(message, '!');
  await user.click(within(dialog).getByRole('button', { name: 'Squash into main' }));
  await within(dialog).findByText('main has moved on.');
  expect(message.value).toBe('Login form\n\n* One\n* Two!');
  const order = { stageId: 'STAGE-1', merge: 'squash', message: 'Login form\n\n* One\n* Two!', head, tree };
  expect(sent('complete_stage')).toEqual([order]);
  await user.click(within(dialog).getByRole('button', { name: 'Close' }));
  const again = await openDialog();
  await within(again).findByRole('button', { name: 'Squash into main' });
  expect(within(again).getByRole('radio', { name: 'Squash' })).toHaveProperty('checked', true);
});

it('names the commit at which a rebase would stop, and has Claude rebase', async () => {
  const stoppedAt = { commit: 'd'.repeat(40), subject: 'Write the form' };
  const { user, server, sent } = open('/', plan({ conflicts: ['a.ts', 'b.ts'], stoppedAt }));
  server.answer({ send_message: ({ messageId }) => ({ status: 'sent', messageId: messageId ?? '' }) as never });
  const dialog = await openDialog();
  await user.click(await within(dialog).findByRole('radio', { name: 'Rebase' }));
  await within(dialog).findByText(
    'ddddddd "Write the form" on callboard/STAGE-1 and main change the same lines in 2 files:',
  );
  await expect.poll(() => sent('get_completion').at(-1)).toMatchObject({ method: 'rebase' });
  await user.click(within(dialog).getByRole('button', { name: 'Give the conflict to Claude' }));
  await expect
    .poll(() => sent('send_message'))
    .toMatchObject([{ message: expect.stringMatching(/Rebase[\s\S]*\n- a\.ts\n- b\.ts$/) }]);
});

const elsewhere = {
  own: worktree.branch,
  tip: 'd'.repeat(40),
  branch: 'other',
  head: 'e'.repeat(40),
  operation: null,
  commits: 2,
  missing: 0,
  uncommitted: 0,
};

it('names the branch that the worktree is on, and takes it as that of the stage, or goes back', async () => {
  const refusal = 'The worktree is on the branch other, not on callboard/STAGE-1.';
  const { user, sent, server } = open('/', plan({ commits: 0, files: 0, elsewhere, refusal }));
  server.answer({
    take_branch: () => problem('head_moved', 'The worktree has moved since you looked.'),
    go_back_to_branch: () => problem('branch_left', 'Git did not go back.'),
  });
  const dialog = await openDialog();
  await within(dialog).findByText(refusal);
  within(dialog).getByText(/2 commits that callboard\/STAGE-1 lacks would stay on other\. You can merge later\./);
  expect(within(dialog).queryByRole('button', { name: 'Merge into main' })).toBeNull();
  const order = { stageId: 'STAGE-1', head: elsewhere.head };
  await user.click(within(dialog).getByRole('button', { name: 'Take other as its branch' }));
  await screen.findByText('The worktree has moved since you looked.');
  expect(sent('take_branch')).toEqual([order]);
  await user.click(within(dialog).getByRole('button', { name: 'Go back to callboard/STAGE-1' }));
  await screen.findByText('Git did not go back.');
  expect(sent('go_back_to_branch')).toEqual([order]);
});

it('offers to ask Claude to finish a rebase that is half done', async () => {
  const half = { ...elsewhere, branch: null, operation: 'rebase' as const };
  const { user, sent, server } = open('/', plan({ elsewhere: half, refusal: 'A rebase is half done.' }));
  server.answer({ send_message: () => ({ status: 'sent', messageId: MessageId.parse(crypto.randomUUID()) }) });
  const dialog = await openDialog();
  await within(dialog).findByText('A rebase is half done.');
  expect(within(dialog).queryByRole('button', { name: /^Take/ })).toBeNull();
  await user.click(within(dialog).getByRole('button', { name: 'Ask Claude to finish it' }));
  await expect.poll(() => sent('send_message')).toMatchObject([{ message: expect.stringContaining('half done') }]);
});

it('names placeholders of the sandbox that were committed, and takes them out', async () => {
  const refusal = '2 files of the branch are only placeholders of Claude Code’s sandbox.';
  const { user, server, sent } = open('/stages/STAGE-1', plan({ placeholders: ['.bashrc', '.mcp.json'], refusal }));
  await user.click(await screen.findByRole('button', { name: 'Finish' }));
  const note = await screen.findByRole('region', { name: 'Placeholders of the sandbox' });
  expect(
    within(note)
      .getAllByRole('listitem')
      .map((item) => item.textContent),
  ).toEqual(['.bashrc', '.mcp.json']);
  server.answer({
    take_out_placeholders: () => ({ files: ['.bashrc', '.mcp.json'] }),
    get_completion: () => ({ completion: { plan: plan(), undo: null } }),
  });
  await user.click(within(note).getByRole('button', { name: 'Take them out' }));
  await expect.poll(() => sent('take_out_placeholders')).toEqual([{ stageId: 'STAGE-1' }]);
  await expect.poll(() => screen.queryByRole('region', { name: 'Placeholders of the sandbox' })).toBeNull();
});

/** Opens the changes of a stage that has one; `isWide`: beside the transcript. */
async function openReview(path: string, { files = 1, isWide = true, isReadable = true } = {}) {
  const media = window.matchMedia;
  window.matchMedia = (query) => ({ ...media(query), matches: isWide && query.startsWith('(min-width') });
  onTestFinished(() => {
    window.matchMedia = media;
  });
  const changes = { files, additions: files, deletions: 0 };
  const page = open(path, plan(), { worktree }, { changes });
  page.server.answer({
    get_transcript: () => ({ entries: [], total: 0 }),
    get_drafts: () => ({ drafts: [] }),
    get_capabilities: () => ({ capabilities: null, from: 'stage' }),
    get_diff: () =>
      isReadable
        ? { diff: stageDiff(files === 0 ? [] : [fileDiff('a.ts')], { head, tree }) }
        : problem('worktree_failed', 'Git has failed.'),
    get_comments: () => ({ comments: [] }),
    get_viewed: () => ({ viewed: {} }),
    get_side_runs: () => ({ runs: [] }),
  });
  return page;
}

it('finishes a stage in one bar below its changes, without a dialog', async () => {
  const { user, sent } = await openReview('/stages/STAGE-1');
  await screen.findByRole('region', { name: 'Changes' });
  const bar = within(await screen.findByRole('region', { name: 'Comments' }));
  await bar.findByRole('button', { name: 'Ask Claude to review' });
  await user.click(bar.getByRole('button', { name: 'Finish' })); // the only one on the page
  expect(screen.getAllByRole('button', { name: 'Finish' })).toHaveLength(1);
  await user.click(await bar.findByRole('button', { name: 'Merge into main' }));
  await expect.poll(() => sent('complete_stage')).toMatchObject([{ merge: 'merge', head, tree }]);
  expect(screen.queryByRole('dialog')).toBeNull();
  await expect.poll(() => bar.queryByRole('button', { name: 'Merge into main' })).toBeNull();
});

it('leads from the transcript to the bar below the changes', async () => {
  const { user } = await openReview('/stages/STAGE-1', { isWide: false });
  await user.click(await screen.findByRole('button', { name: 'Finish' }));
  const finish = within(await screen.findByRole('region', { name: 'Finish' }));
  await finish.findByRole('button', { name: 'Merge into main' });
  expect(screen.queryByRole('dialog')).toBeNull();
});

it('shows the transcript alone until there are changes', async () => {
  const { server, own } = await openReview('/stages/STAGE-1', { files: 0 });
  await screen.findByRole('region', { name: 'Transcript' });
  expect(screen.queryByRole('separator', { name: 'Width of the transcript' })).toBeNull();
  const changes = { files: 1, additions: 1, deletions: 0 };
  server.emit('session-updated', session('STAGE-1', { state: 'idle', stateSince: own.createdAt, changes }));
  await screen.findByRole('separator', { name: 'Width of the transcript' });
  await screen.findByRole('region', { name: 'Changes' });
});

it('leaves a phone to the diff that is read: no message box, and a head of one line once it is scrolled', async () => {
  await openReview('/stages/STAGE-1?tab=changes', { isWide: false });
  const list = await screen.findByRole('region', { name: 'Changed files' });
  expect(screen.queryByRole('textbox', { name: 'Message' })).toBeNull();
  const isReading = () => document.querySelector('[data-reading]') !== null;
  for (const [scrollTop, expected] of [
    [100, false],
    [200, true],
    [100, true],
    [0, false],
  ] as const) {
    list.scrollTop = scrollTop;
    fireEvent.scroll(list);
    expect(isReading()).toBe(expected);
  }
});

it('keeps the button in the head as long as the changes are not read', async () => {
  await openReview('/stages/STAGE-1?tab=changes', { isReadable: false });
  await screen.findByRole('region', { name: 'Changes' });
  await screen.findByRole('button', { name: 'Finish' });
});
