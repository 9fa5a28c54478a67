import { type BoardView, type Me, NOBODY, type PendingRequest, StageId } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, decision, request, session, stage } from '../../test/samples.ts';

const login = request('STAGE-1', 'r1', { createdAt: at(1) });
const search = request('STAGE-2', 'r2', { createdAt: at(2), input: { command: 'make' } });
const ADA: Me = { ...NOBODY, name: 'Ada' };

const asking = (me: Partial<Me> = {}, pending: PendingRequest[] = [login, search]) => ({
  ...board({
    stages: ['Login form', 'Search index'].map((title, nth) => ({
      stage: stage(`STAGE-${nth + 1}`, { title }),
      session: session(`STAGE-${nth + 1}`, { state: 'waiting' }),
    })),
    pending,
  }),
  me: { ...ADA, ...me },
});
const dialog = (title: string) => screen.findByRole('dialog', { name: `${title}: Run this command?` });
/** Opens a page; returns also what it told the server about people. */
function open(path: string, view: BoardView) {
  const { user, server } = openPage(path, view);
  server.answer({ get_drafts: () => ({ drafts: [] }) });
  const told = () => server.received.filter(({ command }) => command === 'set_later' || command === 'update_me');
  return { user, server, told };
}
const aside = ({ stageId, requestId }: PendingRequest, until: string | null = null) => ({ stageId, requestId, until });

it('sets a request aside on the server, shows the next one, and is called again by an event', async () => {
  const { user, server, told } = open('/', asking());
  server.answer({
    set_later: ({ requestId }) => ({ later: { stageId: StageId.parse('STAGE-1'), requestId, until: null } }),
  });
  const first = within(await dialog('Login form'));
  expect(first.getByText('1 of 2')).toBeTruthy();
  await user.click(first.getByRole('button', { name: 'Snooze' }));
  const second = within(await dialog('Search index'));
  second.getByText('1 new · 2 in the inbox');
  expect(told()).toMatchObject([{ command: 'set_later', input: { stageId: 'STAGE-1', requestId: 'r1' } }]);
  server.emit('later-updated', { ...aside(login), person: 'Ada', later: null });
  await dialog('Login form');
});

it('says nothing when a request that is set aside was decided meanwhile', async () => {
  // Ids of their own: this tab keeps both away from now on.
  const decided = request('STAGE-1', 'r8', { createdAt: at(1) });
  const failing = request('STAGE-2', 'r9', { createdAt: at(2) });
  const { user, server, told } = open('/', asking({}, [decided, failing]));
  server.answer({ set_later: () => problem('unknown_request', 'No open request has this id.') });
  await user.click(within(await dialog('Login form')).getByRole('button', { name: 'Snooze' }));
  await expect.poll(told).toHaveLength(1);
  server.answer({ set_later: () => problem('internal', 'The disk is full.') });
  await user.click(within(await dialog('Search index')).getByRole('button', { name: 'Snooze' }));
  await screen.findByText('The disk is full.');
  expect(screen.getAllByText('Snoozed in this tab only')).toHaveLength(1);
});

it('sets a request aside until a time', async () => {
  const { user, server, told } = open('/', asking());
  server.answer({ set_later: () => ({ later: null }) });
  const first = within(await dialog('Login form'));
  await user.click(first.getByRole('button', { name: 'Until when' }));
  const before = Date.now();
  await user.click(await screen.findByRole('menuitem', { name: 'Remind me in 1 hour', hidden: true }));
  await expect.poll(told).toHaveLength(1);
  const until = Date.parse(JSON.stringify(told()[0]?.input).slice(-26, -2));
  expect(until - 3_600_000).toBeGreaterThan(before - 10_000);
  expect(until - 3_600_000).toBeLessThanOrEqual(Date.now());
});

it('shows nothing that this person set aside, and lists it in the inbox, from where it can be called back', async () => {
  const { user, server, told } = open('/inbox?request=STAGE-1%2Fr1', asking({ later: [aside(login)] }));
  const later = within(await screen.findByRole('region', { name: 'Snoozed' }));
  later.getByRole('link', { name: /^Login form/ });
  server.answer({ set_later: () => ({ later: null }) });
  await user.click(await screen.findByRole('button', { name: 'Show again' }));
  await expect.poll(told).toMatchObject([{ input: { requestId: 'r1', until: null } }]);
  await expect.poll(() => screen.queryByRole('region', { name: 'Snoozed' })).toBeNull();
});

it('shows requests beside the page to whoever chose that, without taking the focus', async () => {
  open('/', asking({ presentation: 'panel' }));
  const panel = within(await screen.findByRole('region', { name: 'Waiting request' }));
  panel.getByRole('form', { name: 'Login form: Run this command?' });
  expect(screen.queryByRole('dialog')).toBeNull();
  expect(document.activeElement).toBe(document.body);
});

it('shows only a card to whoever wants it quiet; C opens the request', async () => {
  const { user } = open('/', asking({ presentation: 'quiet' }));
  const card = within(await screen.findByRole('region', { name: 'Request' }));
  card.getByText('Login form');
  expect(screen.queryByRole('dialog')).toBeNull();
  await user.keyboard('c');
  await dialog('Login form');
});

it('keeps the choice on the server', async () => {
  const { user, server, told } = open('/', asking({}, []));
  server.answer({ update_me: (patch) => ({ me: { ...ADA, ...patch } }) });
  await user.click(await screen.findByRole('button', { name: 'Account' }));
  await user.click(await screen.findByRole('menuitemradio', { name: 'Beside the page', hidden: true }));
  await expect.poll(told).toMatchObject([{ command: 'update_me', input: { presentation: 'panel' } }]);
});

it('counts the open requests of a stage on its card and in the head of its page, where a click shows them; Escape sets all aside', async () => {
  const reads = [1, 2, 3].map((nth) =>
    request('STAGE-1', `read-${nth}`, { createdAt: at(nth), toolName: 'Read', input: { file_path: `/${nth}.txt` } }),
  );
  const { user, server, told } = open('/', asking({}, reads));
  server.answer({
    set_later: ({ requestId, stageId = login.stageId }) => ({ later: { stageId, requestId, until: null } }),
  });
  await screen.findByRole('dialog', { name: /^Login form: Read/ });
  await user.keyboard('{Escape}');
  await expect.poll(told).toHaveLength(3);
  const card = within(await screen.findByRole('article', { name: 'Login form' }));
  expect(card.getByRole('img', { name: '3 open requests' }).textContent).toBe('3');
  server.answer({ get_transcript: () => ({ entries: [], total: 0 }), get_queue: () => ({ queue: [], held: false }) });
  await user.click(card.getByRole('link', { name: 'Login form' }));
  await user.click(await screen.findByRole('link', { name: 'Details' }));
  await expect.poll(() => location.search).toBe('?tab=details');
  const signal = await screen.findByRole('button', { name: '3 open requests of this stage' });
  expect(signal.textContent).toBe('3');
  await user.click(signal);
  await expect.poll(() => location.search).toBe('');
  expect(await screen.findAllByRole('form', { name: /^Login form: Read/ })).toHaveLength(3);
  server.emit('approval-resolved', decision(reads[0] ?? login));
  await screen.findByRole('button', { name: '2 open requests of this stage' });
});
