import { AttachedFile, MessageId, NOBODY, type StageView } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openPage } from '../test/open-page.tsx';
import { problem } from '../test/page-server.ts';
import { at, board, decision, request, session, stage } from '../test/samples.ts';

const PNG = Uint8Array.from(
  atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='),
  (sign) => sign.charCodeAt(0),
);
const idle = session('STAGE-1', {
  state: 'idle',
  sessionId: 'one',
  lastTurn: { outcome: 'succeeded', at: at(1), message: null },
});
const draft = { updatedAt: at(2), writer: null };
const own = stage('STAGE-1', { title: 'Login form' });

/** Opens the page of a stage that can be written to. */
function open() {
  const page = openPage('/stages/STAGE-1', board({ stages: [{ stage: own, session: idle }] }));
  page.server.answer({
    get_transcript: () => ({ entries: [], total: 0 }),
    get_drafts: () => ({ drafts: [] }),
    put_draft: ({ stageId, key, value }) => ({ draft: { ...draft, stageId, key, value } }),
    send_message: ({ messageId }) => ({ status: 'sent', messageId: MessageId.parse(messageId) }),
  });
  const sent = () => page.server.received.filter(({ command }) => command === 'send_message');
  return { ...page, sent };
}

/** Opens it, attaches a file that the server does not answer for yet, and sends a message with it. */
async function sendWhileUploading() {
  const page = open();
  const { user, server } = page;
  const upload = Promise.withResolvers<Response | undefined>();
  server.answer({
    add_draft_file: async ({ stageId, fileId, file }) => {
      const refusal = await upload.promise;
      if (refusal !== undefined) return refusal;
      const saved = AttachedFile.parse({ fileId, name: file.name, mediaType: file.mediaType, size: PNG.length });
      server.answer({ get_drafts: () => ({ drafts: [{ ...draft, stageId, key: 'files', value: [saved] }] }) });
      return { file: saved };
    },
  });
  const box = await screen.findByRole<HTMLTextAreaElement>('textbox', { name: 'Message' });
  await user.upload(screen.getByLabelText('Attach files'), new File([PNG], 'the page.png', { type: 'image/png' }));
  await expect.poll(() => server.received.some(({ command }) => command === 'add_draft_file')).toBe(true);
  await user.type(box, 'Look at this{Enter}');
  expect(box.value).toBe('Look at this');
  expect(page.sent()).toEqual([]);
  return { ...page, box, endUpload: upload.resolve };
}

it('sends a message once the upload of its file is complete, if it was sent before that', async () => {
  const { box, sent, endUpload } = await sendWhileUploading();
  endUpload(undefined);
  await expect.poll(() => box.value).toBe('');
  expect(sent()).toMatchObject([{ input: { message: 'Look at this', files: [expect.any(String)] } }]);
});

it('does not send a message whose file was rejected meanwhile', async () => {
  const { box, sent, endUpload } = await sendWhileUploading();
  endUpload(problem('body_too_large', 'The file is too large.'));
  await screen.findByText(/the page\.png was not added/);
  await expect.poll(() => screen.getByRole<HTMLButtonElement>('button', { name: 'Send' }).disabled).toBe(false);
  expect(box.value).toBe('Look at this');
  expect(sent()).toEqual([]);
});

it('starts the next phase of a stage at its gate', async () => {
  const pipeline = [
    { name: 'Design', prompt: 'Design it.', gate: 'human' },
    { name: 'Build', prompt: 'Build it.', gate: 'none' },
  ];
  const designed = stage('STAGE-1', { pipeline });
  const atGate = { ...idle, atGate: true };
  const { user, server } = openPage('/stages/STAGE-1', board({ stages: [{ stage: designed, session: atGate }] }));
  const view: StageView = { ...designed, column: 'running', session: idle };
  server.answer({ get_transcript: () => ({ entries: [], total: 0 }), advance_stage: () => ({ stage: view }) });
  await user.click(await screen.findByRole('button', { name: 'Start Build' }));
  await expect
    .poll(() => server.received.filter(({ command }) => command === 'advance_stage'))
    .toMatchObject([{ input: { stageId: 'STAGE-1' } }]);
});

/** Opens the board under a request, which then ends without an answer of this page. */
async function openUnderRequest(requestId: string) {
  const asked = request('STAGE-1', requestId, { createdAt: at(1) });
  const waiting = session('STAGE-1', { state: 'waiting' });
  const page = openPage('/', board({ stages: [{ stage: own, session: waiting }], pending: [asked] }));
  page.server.answer({ get_drafts: () => ({ drafts: [] }) });
  await screen.findByRole('dialog', { name: 'Login form: Run this command?' });
  return { ...page, asked };
}

it('says that a request timed out', async () => {
  const { server, asked } = await openUnderRequest('late');
  server.emit('approval-resolved', decision(asked, { outcome: 'timed-out', by: null, waitedMs: 10_000 }));
  await screen.findByText('Timed out');
  screen.getByText(/^Login form: Run this command\? Timed out, nobody answered for 10 s/);
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
});

it('says that Claude withdrew a request that a person had time to see', async () => {
  const { server, asked } = await openUnderRequest('withdrawn');
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 2_500);
  onTestFinished(() => void vi.restoreAllMocks());
  const { stageId, requestId } = asked;
  server.emit('approval-cancelled', { stageId, requestId, reason: 'Claude Code withdrew the request.' });
  await screen.findByText('No longer needed');
  screen.getByText('Login form: Run this command? Claude Code withdrew the request.');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
});

it('says nothing of a request that was withdrawn before a person had time to see it', async () => {
  const { server, asked } = await openUnderRequest('brief');
  const { stageId, requestId } = asked;
  server.emit('approval-cancelled', { stageId, requestId, reason: 'The command finished before you answered.' });
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(screen.queryByText('No longer needed')).toBeNull();
});

it('shows a key only where it works: not while a text field has the focus', async () => {
  const other = stage('STAGE-2', { title: 'Search index' });
  const stages = [
    { stage: own, session: idle },
    { stage: other, session: session('STAGE-2', { state: 'waiting' }) },
  ];
  const view = board({ stages, pending: [request('STAGE-2', 'other', { createdAt: at(1) })] });
  const { user, server } = openPage('/stages/STAGE-1', { ...view, me: { ...NOBODY, presentation: 'quiet' } });
  server.answer({ get_transcript: () => ({ entries: [], total: 0 }), get_drafts: () => ({ drafts: [] }) });
  const card = await screen.findByRole('region', { name: 'Request' });
  const isOff = () => within(card).getByText('C').dataset.off;
  expect(isOff()).toBe('false');
  await user.click(screen.getByRole('textbox', { name: 'Message' }));
  await expect.poll(isOff).toBe('true');
});
