import { BoardNotices, QueuedMessage } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, session, stage } from '../../test/samples.ts';

const own = stage('STAGE-1', { title: 'Login form' });
const detail = 'The output has lines that Claude Code did not print. Look at the last steps before it continues.';
const ALARMED = { state: 'ended', alarm: { code: 'forged-output', at: at(1), detail } };

/** Opens a page on which one stage has a session that says this. */
function open(path: string, fields: Record<string, unknown>, more: object = {}) {
  const view = board({ stages: [{ stage: own, session: session('STAGE-1', fields) }] });
  const shown = { ...view, ...more };
  const page = openPage(path, shown);
  page.server.answer({
    get_drafts: () => ({ drafts: [] }),
    get_transcript: () => ({ entries: [], total: 0 }),
    get_queue: () => ({ queue: [], held: false }),
  });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map(({ input }) => input);
  return { ...page, sent, shown };
}

it('shows a session under alarm as such on the board and in the inbox', async () => {
  const { user } = open('/', ALARMED);
  const needsYou = within(await screen.findByRole('region', { name: 'Needs you' }));
  await needsYou.findByText('Security alarm: forged output');
  await user.keyboard('gi');
  await screen.findByText(/has lines that Claude Code did not print/);
  within(screen.getByRole('article', { name: 'Login form' })).getByRole('button', { name: /^Acknowledge/ });
});

it('lets a session under alarm continue only once a person has acknowledged it', async () => {
  const { user, server, sent } = open('/stages/STAGE-1', ALARMED);
  const banner = within(await screen.findByRole('region', { name: /^Forged output/ }));
  banner.getByText(/Look at the last steps/);
  expect(screen.queryByRole('button', { name: 'Continue' })).toBeNull();
  const interrupted = { outcome: 'interrupted', at: at(2), message: null, code: null };
  const calm = session('STAGE-1', { state: 'ended', sessionId: 'one', lastTurn: interrupted });
  server.answer({
    acknowledge_alarm: () => {
      server.emit('session-updated', calm);
      return { session: { ...calm, queue: [], pending: [] } };
    },
  });
  await user.click(banner.getByRole('button', { name: 'Acknowledge and allow it to continue' }));
  await screen.findByRole('button', { name: 'Continue' });
  expect(screen.queryByRole('region', { name: /^Forged output/ })).toBeNull();
  expect(sent('acknowledge_alarm')).toEqual([{ stageId: 'STAGE-1' }]);
});

const FULL =
  'The disk is nearly full: 90 MB are free on the disk of /data. Callboard starts nothing and delivers no messages.';
const waiting = QueuedMessage.parse({
  stageId: 'STAGE-1',
  messageId: 'm1',
  text: 'And the tests, please',
  by: null,
  createdAt: at(2),
  position: 1,
});

it('says on the board that the disk is nearly full, and beside a message why it waits, until there is room', async () => {
  const { user, server, shown } = open('/', { state: 'busy' }, { paused: FULL });
  server.answer({ get_queue: () => ({ queue: [waiting], held: false }) });
  within(await screen.findByRole('alert')).getByText(/The disk is nearly full: 90 MB are free/);
  await user.click(screen.getByRole('link', { name: 'Login form' }));
  const queue = within(await screen.findByRole('region', { name: 'Queued messages' }));
  queue.getByText(/The disk is nearly full/);
  server.pass('notices-updated', BoardNotices.parse({ ...shown, paused: null }));
  await expect.poll(() => screen.queryByText(/The disk is nearly full/)).toBeNull();
  queue.getByText('And the tests, please');
});

it('shows a store that cannot be written as a failure, and what is less as a notice', async () => {
  const warnings = ['Nothing can be stored: the database cannot be reached.', 'Claude Code 1.0 keeps fewer promises.'];
  open('/', { state: 'busy' }, { warnings });
  within(await screen.findByRole('alert')).getByText(/the database cannot be reached/);
  expect(screen.getAllByRole('alert')).toHaveLength(1);
  screen.getByText(/keeps fewer promises/);
});

it('says why a stage does not start on a nearly full disk', async () => {
  const view = board({ stages: [{ stage: own }] });
  const { user, server } = openPage('/stages/STAGE-1', view);
  server.answer({
    get_drafts: () => ({ drafts: [] }),
    get_transcript: () => ({ entries: [], total: 0 }),
    start_stage: () => problem('disk_low', FULL),
  });
  await user.click(await screen.findByRole('button', { name: 'Start' }));
  await screen.findByText(/Callboard starts nothing and delivers no messages/);
});
