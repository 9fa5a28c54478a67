import { type BoardView, DEFAULT_ALERTS, type Me, type PendingRequest } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, decision, request, session, stage } from '../../test/samples.ts';

const DELAYED_UNTIL = at(60);
const ADA: Me = { name: 'Ada', presentation: 'overlay', later: [], alerts: DEFAULT_ALERTS };

/** Two stages that ask; the ids are the test's own, as a tab remembers what it answered. */
function asking(name: string): { view: BoardView; login: PendingRequest; search: PendingRequest } {
  const login = request('STAGE-1', `${name}-1`, { createdAt: at(1) });
  const search = request('STAGE-2', `${name}-2`, { createdAt: at(2), input: { command: 'make' } });
  const stages = ['Login form', 'Search index'].map((title, nth) => ({
    stage: stage(`STAGE-${nth + 1}`, { title }),
    session: session(`STAGE-${nth + 1}`, { state: 'waiting' }),
  }));
  return { view: { ...board({ stages, pending: [login, search] }), me: ADA }, login, search };
}

function open(path: string, view: BoardView) {
  const { user, server } = openPage(path, view);
  server.answer({
    get_drafts: () => ({ drafts: [] }),
    approve_tool: () => ({ heldUntil: DELAYED_UNTIL }),
  });
  // The page of the test before may still repeat a command that it could not deliver.
  const isOwn = (input: unknown) =>
    view.pending.some(({ requestId }) => JSON.stringify(input).includes(`"${requestId}"`));
  const sent = (command: string) =>
    server.received.flatMap((one) => (one.command === command && isOwn(one.input) ? [one.input] : []));
  return { user, server, sent };
}

const dialog = (title: string) => screen.findByRole('dialog', { name: `${title}: Run this command?` });

/** Its buttons can be pressed half a second after they were drawn. */
async function ready(name: string, title: string) {
  const button = within(await dialog(title)).getByRole('button', { name });
  await expect.poll(() => button.getAttribute('aria-disabled')).toBeNull();
  return button;
}

it('a tap is sent at once to be held back, the next request follows, and Undo brings the first one back', async () => {
  const { view, login } = asking('tap');
  const { user, server, sent } = open('/', view);
  await user.pointer({ keys: '[TouchA]', target: await ready('Allow', 'Login form') });
  const next = within(await dialog('Search index'));
  expect(sent('approve_tool')).toMatchObject([{ requestId: 'tap-1', decision: 'allow', hold: true }]);
  next.getByText('Allowed');
  server.answer({ take_back_answer: () => ({ request: login }) });
  await user.click(next.getByRole('button', { name: 'Undo' }));
  await dialog('Login form');
  expect(sent('take_back_answer')).toEqual([{ stageId: 'STAGE-1', requestId: 'tap-1' }]);
  expect(screen.queryByRole('button', { name: 'Undo' })).toBeNull();
});

it('the mouse sends an answer at once', async () => {
  const { view, login } = asking('mouse');
  const { user, server, sent } = open('/', view);
  server.answer({ approve_tool: () => ({ decision: decision(login) }) });
  await user.click(await ready('Allow', 'Login form'));
  await dialog('Search index');
  expect(sent('approve_tool')).toEqual([{ stageId: 'STAGE-1', requestId: 'mouse-1', decision: 'allow' }]);
  expect(screen.queryByRole('button', { name: 'Undo' })).toBeNull();
});

it('says when Undo came too late, and when the request was withdrawn before the answer was sent', async () => {
  const { view, login, search } = asking('late');
  const { user, server } = open('/', view);
  await user.pointer({ keys: '[TouchA]', target: await ready('Deny', 'Login form') });
  const next = within(await dialog('Search index'));
  server.answer({
    take_back_answer: () => problem('already_decided', 'It was denied by Ada.'),
  });
  await user.click(next.getByRole('button', { name: 'Undo' }));
  await screen.findByText('Too late to take it back');
  server.emit('approval-resolved', decision(login, { outcome: 'denied' }));
  await expect.poll(() => screen.queryByRole('button', { name: 'Undo' })).toBeNull();

  await user.pointer({ keys: '[TouchA]', target: await ready('Allow', 'Search index') });
  await screen.findByRole('button', { name: 'Undo' });
  const { stageId, requestId } = search;
  const reason = 'Claude took it back. Ada had just answered it; that answer was not sent.';
  server.emit('approval-cancelled', { stageId, requestId, reason });
  server.emit('approval-resolved', decision(search, { outcome: 'closed', by: null, reason, delivery: 'none' }));
  await screen.findByText(/that answer was not sent/);
  expect(screen.queryByRole('button', { name: 'Undo' })).toBeNull();
});

it('shows who else is answering, and takes no answer meanwhile', async () => {
  const { view, login } = asking('other');
  const { server } = open('/', view);
  const allow = await ready('Allow', 'Login form');
  const place = { stageId: login.stageId, requestId: login.requestId };
  server.emit('answer-held', { ...place, held: { by: 'Bo', outcome: 'denied', until: DELAYED_UNTIL } });
  await screen.findByText('Bo is answering: Denied, sent in 2 s unless taken back.');
  expect(allow).toHaveProperty('disabled', true);
  server.emit('answer-held', { ...place, held: null });
  await expect.poll(() => allow).toHaveProperty('disabled', false);
});

it('on the stage’s own page the line with Undo takes the place of the form', async () => {
  const { view } = asking('own');
  const { user, server, sent } = open('/stages/STAGE-1', { ...view, pending: view.pending.slice(0, 1) });
  server.answer({ get_transcript: () => ({ entries: [], total: 0 }) });
  const form = within(await screen.findByRole('form', { name: 'Login form: Run this command?' }));
  const deny = form.getByRole('button', { name: 'Deny' });
  await expect.poll(() => deny.getAttribute('aria-disabled')).toBeNull();
  await user.pointer({ keys: '[TouchA]', target: deny });
  await screen.findByText('Denied');
  expect(screen.getAllByRole('button', { name: 'Undo' })).toHaveLength(1);
  expect(screen.queryByRole('form', { name: 'Login form: Run this command?' })).toBeNull();
  expect(sent('approve_tool')).toMatchObject([{ decision: 'deny', hold: true }]);
});
