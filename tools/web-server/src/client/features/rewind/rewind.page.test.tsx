import { MessageId, type RewindPlan, type RewindRecord, type TranscriptEntry } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, entry, session, stage } from '../../test/samples.ts';

const id = (n: number) => MessageId.parse(`00000000-0000-7000-8000-00000000000${n}`);
const said = (index: number, n: number, text: string) =>
  entry(index, 'user', { text, messageId: id(n), by: 'Ada', attachments: [] });
const answer = (index: number, text: string) => entry(index, 'text', { text, blockId: `b${index}` });
const end = (index: number) =>
  entry(index, 'turn-end', { outcome: 'succeeded', message: null, durationMs: 1, costUsd: 0 });
const entries: TranscriptEntry[] = [
  ...[said(1, 1, 'Build the form'), answer(2, 'Built.'), end(3)],
  ...[said(4, 2, 'Now in red'), answer(5, 'Red it is.'), end(6)],
];
const notice = entry(7, 'notice', { level: 'info', code: 'gone-back', text: 'Ada went back.' });
const rewinds: RewindRecord = {
  id: 'one',
  messageId: id(2),
  at: at(8),
  by: 'Ada',
  from: 4,
  to: 6,
  files: true,
  conversation: true,
  canUndo: true,
};

const plan: RewindPlan = {
  files: {
    at: at(3),
    changes: [
      { path: 'src/form.css', oldPath: null, status: 'modified', additions: 1, deletions: 4 },
      { path: 'src/red.css', oldPath: null, status: 'deleted', additions: 0, deletions: 9 },
    ],
    counts: { files: 2, additions: 1, deletions: 13 },
    blocked: [{ path: 'vendor/lib', reason: 'submodule' }],
    notKept: [{ path: 'node_modules', reason: 'ignored', bytes: null }],
    commits: 1,
  },
  filesProblem: null,
  conversation: { messages: 1, isNew: false },
  conversationProblem: null,
  text: 'Now in red',
};

const own = stage('STAGE-1', { title: 'Login form' });
const idle = session('STAGE-1', {
  state: 'idle',
  sessionId: 'one',
  transcriptLength: 6,
  lastTurn: { outcome: 'succeeded', at: at(6), message: null },
});

/** Opens the page of a stage with two turns. */
async function open(now = idle) {
  // The transcript draws only the rows that fit.
  const height = vi.spyOn(Element.prototype, 'clientHeight', 'get').mockReturnValue(800);
  onTestFinished(() => height.mockRestore());
  const page = openPage('/stages/STAGE-1', board({ stages: [{ stage: own, session: now }] }));
  const draft = { updatedAt: at(2), writer: null };
  page.server.answer({
    get_transcript: () => ({ entries, total: 6 }),
    get_drafts: () => ({ drafts: [] }),
    put_draft: ({ stageId, key, value }) => ({ draft: { ...draft, stageId, key, value } }),
    rewind_session: () => ({ plan, session: idle }),
    undo_rewind: () => ({ session: idle }),
  });
  await screen.findByText('Red it is.');
  const sent = (command: string) => page.server.received.flatMap((one) => (one.command === command ? [one.input] : []));
  const backTo = async (n: number) => {
    const buttons = screen.getAllByRole('button', { name: 'Back to here' });
    await page.user.click(buttons[n - 1] ?? document.body);
    return within(await screen.findByRole('dialog', { name: 'Back to here' }));
  };
  return { ...page, sent, backTo };
}

it('shows what would change, goes back, folds what was taken back, and undoes it', async () => {
  const { user, server, sent, backTo } = await open();
  const dialog = await backTo(2);
  const changing = within(await dialog.findByRole('list', { name: 'Files that change' }));
  expect(changing.getAllByRole('listitem').map((item) => item.textContent)).toEqual([
    'src/form.css +1 −4',
    'src/red.cssis removed −9',
  ]);
  expect(dialog.getByRole('list', { name: 'Cannot be restored' }).textContent).toContain('vendor/lib');
  expect(dialog.getByRole('list', { name: 'Not kept', hidden: true }).textContent).toContain('node_modules');
  dialog.getByText(/^1 commit since then stays on the branch/);
  dialog.getByText(/^This message and all that followed are taken back/);
  expect(sent('rewind_session')).toMatchObject([{ messageId: id(2), dryRun: true }]);
  await user.click(dialog.getByRole('button', { name: 'Go back' }));
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(sent('rewind_session').at(-1)).toEqual({
    stageId: 'STAGE-1',
    messageId: id(2),
    files: true,
    conversation: true,
  });
  expect(screen.getByRole<HTMLTextAreaElement>('textbox', { name: 'Message' }).value).toBe('Now in red');

  server.answer({ get_transcript: () => ({ entries: [notice], total: 7 }) });
  const after = { ...idle, transcriptLength: 7 };
  server.emit('transcript-appended', { stageId: own.id, index: 7 });
  server.emit('session-updated', { ...after, goneBack: [rewinds] });
  const fold = await screen.findByRole('button', { name: /^Taken back at .* by Ada 3 entries$/ });
  expect(screen.queryByText('Red it is.')).toBeNull();
  screen.getByText('Built.');
  await user.click(fold);
  await screen.findByText('Red it is.');
  expect(screen.getAllByRole('button', { name: 'Back to here' })).toHaveLength(1);
  expect(screen.getAllByRole('button', { name: 'Fork from here' })).toHaveLength(2);

  await user.click(screen.getByRole('button', { name: 'Undo' }));
  await expect.poll(() => sent('undo_rewind')).toEqual([{ stageId: 'STAGE-1' }]);
  server.emit('session-updated', { ...after, goneBack: [] });
  await expect.poll(() => screen.queryByRole('button', { name: /^Taken back/ })).toBeNull();
  expect(screen.queryByRole('button', { name: 'Undo' })).toBeNull();
});

it('puts the text into the message box even if the events are there before the answer', async () => {
  const { user, server, sent, backTo } = await open();
  const dialog = await backTo(2);
  await dialog.findByRole('list', { name: 'Files that change' });
  server.answer({
    get_transcript: () => ({ entries: [notice], total: 7 }),
    rewind_session: async ({ dryRun }) => {
      if (dryRun === true) return problem('cannot_go_back', 'This message was taken back.');
      server.emit('transcript-appended', { stageId: own.id, index: 7 });
      server.emit('session-updated', { ...idle, goneBack: [rewinds] });
      await screen.findByRole('button', { name: /^Taken back/, hidden: true });
      return { plan, session: idle };
    },
  });
  await user.click(dialog.getByRole('button', { name: 'Go back' }));
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(screen.getByRole<HTMLTextAreaElement>('textbox', { name: 'Message' }).value).toBe('Now in red');
  expect(sent('rewind_session')).toMatchObject([{ dryRun: true }, { files: true, conversation: true }]);
});

it('keeps what cannot go back, and what a person leaves out', async () => {
  const { user, server, sent, backTo } = await open();
  const filesProblem = 'The files before this message were not kept.';
  server.answer({ rewind_session: () => ({ plan: { ...plan, files: null, filesProblem }, session: idle }) });
  const dialog = await backTo(2);
  const files = await dialog.findByRole<HTMLInputElement>('checkbox', { name: /^Files/ });
  expect([files.checked, files.disabled]).toEqual([false, true]);
  dialog.getByText(filesProblem);
  const conversation = dialog.getByRole<HTMLInputElement>('checkbox', { name: /^Conversation/ });
  const go = dialog.getByRole<HTMLButtonElement>('button', { name: 'Go back' });
  await user.click(conversation);
  expect(go.disabled).toBe(true);
  await user.click(conversation);
  server.answer({ rewind_session: () => problem('cannot_go_back', 'The files of STAGE-1 are being restored.') });
  await user.click(go);
  await dialog.findByText(/Nothing was restored.*being restored/);
  expect(sent('rewind_session').at(-1)).toMatchObject({ files: false, conversation: true });
});

it('says that Claude has to be interrupted first, and goes on once it is', async () => {
  const { user, server, sent, backTo } = await open(session('STAGE-1', { ...idle, state: 'busy', launchId: 'launch' }));
  server.answer({ interrupt: () => ({ session: { ...idle, queue: [], pending: [] } }) });
  const dialog = await backTo(1);
  dialog.getByText(/^Claude is working on Login form/);
  expect(sent('rewind_session')).toEqual([]);
  await user.click(dialog.getByRole('button', { name: 'Interrupt' }));
  await expect.poll(() => sent('interrupt')).toHaveLength(1);
  server.emit('session-updated', idle);
  await dialog.findByRole('list', { name: 'Files that change' });
});

it('forks a stage by keys, and leads to the new one', async () => {
  const { user, server, sent } = await open();
  const made = stage('STAGE-2', {
    title: 'In green',
    prompt: 'Now in red',
    fork: { stageId: 'STAGE-1', title: 'Login form', messageId: id(2), conversationId: 'one', until: 'a' },
  });
  server.answer({ fork_stage: () => ({ stage: { ...made, column: 'ready', session: null } }) });
  screen.getByRole('region', { name: 'Transcript' }).focus();
  await user.keyboard('kkkkkkjjjf');
  const dialog = within(await screen.findByRole('dialog', { name: 'Fork from here' }));
  const title = dialog.getByRole<HTMLInputElement>('textbox', { name: 'Title' });
  expect(title.value).toBe('Login form (fork)');
  await user.clear(title);
  await user.type(title, 'In green');
  server.emit('stage-created', { stageId: made.id, stage: made });
  await user.click(dialog.getByRole('button', { name: 'Fork' }));
  await expect.poll(() => location.pathname).toBe('/stages/STAGE-2');
  expect(sent('fork_stage')).toEqual([
    { stageId: 'STAGE-1', messageId: id(2), title: 'In green', creationId: expect.any(String) },
  ]);
  expect((await screen.findByText(/^Continues from/)).textContent).toContain('Login form, before one of its messages');
});
