import { MessageId, QueuedMessage } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { HttpResponse } from 'msw';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, session, stage } from '../../test/samples.ts';

const TEXTS = 'Continue where you left off.';
const FAILED = { state: 'idle', lastTurn: { outcome: 'failed', at: at(1), message: 'Not on Fridays', code: null } };
const own = stage('STAGE-1', { title: 'Nightly export' });

/** Opens a page on which one stage has come to rest. */
function open(path: string, fields: object) {
  const rested = session('STAGE-1', { sessionId: 'one', ...fields });
  const page = openPage(path, board({ stages: [{ stage: own, session: rested }] }));
  page.server.answer({
    get_drafts: () => ({ drafts: [] }),
    get_transcript: () => ({ entries: [], total: 0 }),
    get_queue: () => ({ queue: [], held: false }),
    send_message: ({ messageId }) => ({ status: 'sent', messageId: MessageId.parse(messageId) }),
  });
  const sent = () => page.server.received.flatMap(({ command, input }) => (command === 'send_message' ? [input] : []));
  return { ...page, sent, rested };
}

/** The button, once it can be pressed. */
async function resume(): Promise<HTMLElement> {
  const button = await screen.findByRole('button', { name: 'Continue' });
  await expect.poll(() => button.hasAttribute('disabled')).toBe(false);
  return button;
}

it('continues a stage by one click after a failed turn, once even for a double click', async () => {
  const { user, server, sent, rested } = open('/stages/STAGE-1', FAILED);
  await screen.findByText('Last turn failed');
  screen.getByText(`Continue: tells Claude “${TEXTS}”`);
  await user.dblClick(await resume());
  await expect.poll(sent).toMatchObject([{ message: TEXTS, mode: 'append' }]);
  const [first] = sent();

  // A later failure counts as a new one, and so does the message sent after it.
  server.emit('session-updated', { ...rested, lastTurn: { ...FAILED.lastTurn, outcome: 'failed', at: at(2) } });
  await user.dblClick(await resume());
  await expect.poll(sent).toHaveLength(2);
  const ids = [first, sent()[1]].map((input) => JSON.stringify(input));
  expect(new Set(ids).size).toBe(2);
});

it('sends the same message again if the reply was lost', async () => {
  const { user, server, sent } = open('/stages/STAGE-1', { ...FAILED, lastTurn: { ...FAILED.lastTurn, at: at(3) } });
  let attempts = 0;
  server.answer({
    send_message: ({ messageId }) => {
      attempts += 1;
      return attempts === 1 ? HttpResponse.error() : { status: 'sent', messageId: MessageId.parse(messageId) };
    },
  });
  await user.click(await resume());
  await expect.poll(sent).toHaveLength(2);
  expect(sent()[1]).toEqual(sent()[0]);
});

it('continues a stage from the menu of its card', async () => {
  const { user, sent } = open('/', { ...FAILED, lastTurn: { ...FAILED.lastTurn, at: at(4) } });
  const needsYou = within(await screen.findByRole('region', { name: 'Needs you' }));
  await needsYou.findByText(/^the last turn failed/);
  await user.click(needsYou.getByRole('button', { name: 'More for Nightly export' }));
  await user.click(await screen.findByRole('menuitem', { name: /^Continue\s*tells Claude “/, hidden: true }));
  await expect.poll(sent).toMatchObject([{ message: TEXTS }]);
});

it('says that it starts Claude’s process where that has died', async () => {
  const interrupted = { state: 'failed', lastTurn: { ...FAILED.lastTurn, outcome: 'interrupted', at: at(5) } };
  const { user, server, sent, rested } = open('/stages/STAGE-1', interrupted);
  server.answer({ start_stage: () => ({ stage: { ...own, column: 'running', session: rested } }) });
  await screen.findByText(`Continue: starts Claude’s process and tells it “${TEXTS}”`);
  await user.click(await resume());
  const starts = () => server.received.filter(({ command }) => command === 'start_stage');
  await expect.poll(starts).toMatchObject([{ input: { stageId: 'STAGE-1' } }]);
  expect(sent()).toEqual([]); // the server tells it
});

it('releases waiting messages instead of adding one', async () => {
  const held = { ...FAILED, queued: 1, queueHeld: true, lastTurn: { ...FAILED.lastTurn, outcome: 'interrupted' } };
  const { user, server, rested } = open('/stages/STAGE-1', held);
  const message = QueuedMessage.parse({
    stageId: 'STAGE-1',
    messageId: 'm1',
    text: 'And then the tests',
    by: null,
    createdAt: at(2),
    position: 1,
  });
  let released = 0;
  server.answer({
    get_queue: () => ({ queue: [message], held: true }),
    release_queue: () => {
      released += 1;
      return { session: { ...rested, queue: [], pending: [] } };
    },
  });
  await user.click(await screen.findByRole('button', { name: 'Send queued' }));
  await expect.poll(() => released).toBe(1);
  expect(screen.queryByRole('button', { name: 'Continue' })).toBeNull();
  server.emit('session-updated', { ...rested, queued: 0, queueHeld: false });
  await resume();
});

it('asks what became of a start whose reply was lost, and says nothing if it was done', async () => {
  const interrupted = { state: 'failed', lastTurn: { ...FAILED.lastTurn, outcome: 'interrupted', at: at(6) } };
  const { user, server, rested } = open('/stages/STAGE-1', interrupted);
  let attempts = 0;
  server.answer({
    start_stage: () => {
      attempts += 1;
      return attempts === 1 ? HttpResponse.error() : { stage: { ...own, column: 'running', session: rested } };
    },
  });
  await user.click(await resume());
  await expect.poll(() => attempts).toBe(2);
  expect(screen.queryByText(/was not started/)).toBeNull();
});

it('does not say that a stage was not started if nobody knows', async () => {
  const interrupted = { state: 'failed', lastTurn: { ...FAILED.lastTurn, outcome: 'interrupted', at: at(7) } };
  const { user, server } = open('/stages/STAGE-1', interrupted);
  server.answer({ start_stage: () => problem('no_confirmation', 'Callboard was restarted before it replied.') });
  await user.click(await resume());
  await screen.findByText('Nightly export was not started, or its confirmation was lost');
});
