import { cleanup, fireEvent, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, session, stage } from '../../test/samples.ts';

const done = { completedAt: '2026-01-01T11:00:00.000Z' };
const stages = {
  login: stage('STAGE-1', { title: 'Login', group: 'access', ...done }),
  cart: stage('STAGE-2', { title: 'Cart', group: 'shop' }),
  pay: stage('STAGE-3', { title: 'Pay', group: 'shop', dependsOn: ['STAGE-1', 'STAGE-2'] }),
  mail: stage('STAGE-4', { title: 'Mail', dependsOn: ['STAGE-2', 'STAGE-3'] }),
};
const view = () => board({ stages: Object.values(stages).map((one) => ({ stage: one })) });
const graph = () => screen.findByRole('region', { name: 'Graph of dependencies' });
const node = async (title: string) => within(await graph()).findByRole('link', { name: new RegExp(`^${title}`) });
const described = (element: HTMLElement) =>
  document.getElementById(element.getAttribute('aria-describedby') ?? '')?.textContent;

it('shows the board as a graph that says what waits for what, follows every change, and keeps filter and view in the address', async () => {
  const { user, server } = openPage('/?group=shop', view());
  await user.click(await screen.findByRole('link', { name: 'Graph' }));
  expect(location.search).toBe('?group=shop&view=graph');
  await node('Pay');
  expect(within(await graph()).getAllByRole('link')).toHaveLength(2);
  await user.click(screen.getByRole('button', { name: 'Show all' }));
  expect(described(await node('Mail'))).toBe('Waits for Cart and Pay.');
  expect((await node('Mail')).textContent).toContain('waits for 2');
  expect(described(await node('Pay'))).toBe('Waits for Cart. After Login, which is done. Blocks Mail.');
  expect(document.querySelectorAll('path[data-kind="open"]:not(marker *)')).toHaveLength(3);

  const cart = { ...stages.cart, ...done };
  server.emit('stage-updated', { stageId: cart.id, stage: cart });
  await expect.poll(async () => (await node('Mail')).textContent).toContain('waits for Pay');
  expect((await node('Pay')).textContent).toContain('Ready');
  expect(document.querySelectorAll('path[data-kind="open"]:not(marker *)')).toHaveLength(1);

  const bill = stage('STAGE-5', { title: 'Bill', dependsOn: ['STAGE-4'] });
  server.emit('stage-created', { stageId: bill.id, stage: bill });
  await node('Bill');
});

it('goes through the graph by keyboard, opens a stage, and comes back to the graph', async () => {
  const { user } = openPage('/?view=graph', view());
  await node('Pay');
  await user.keyboard('j');
  expect([await node('Login'), await node('Cart')]).toContain(document.activeElement);
  await user.keyboard('jj');
  expect(document.activeElement).toBe(await node('Pay'));
  expect(screen.getByText(/^Waits for Cart\. After Login/, { selector: 'p' })).toBeTruthy();
  await user.keyboard('{ArrowLeft}');
  expect([await node('Login'), await node('Cart')]).toContain(document.activeElement);
  await user.keyboard('{Enter}');
  await expect.poll(() => location.pathname).toMatch(/^\/stages\/STAGE-[12]$/);
  history.back();
  await node('Pay');
});

it('grows and shrinks with two fingers, as far as they move apart, and leaves one finger to scroll', async () => {
  openPage('/?view=graph', view());
  const link = await node('Pay');
  const drawn = () =>
    Number(
      /scale\(([\d.]+)\)/.exec(document.querySelector<HTMLElement>('[style*="scale("]')?.style.transform ?? '')?.[1],
    );
  const fingers = (...places: [number, number][]) => ({
    touches: places.map(([clientX, clientY]) => ({ clientX, clientY })),
  });
  const before = drawn();
  expect(fireEvent.touchStart(link, fingers([100, 100], [200, 100]))).toBe(false); // the page itself does not zoom
  fireEvent.touchMove(link, fingers([90, 100], [210, 100]));
  expect(drawn()).toBeCloseTo(before * 1.2);
  fireEvent.touchMove(link, fingers([125, 100], [175, 100]));
  expect(drawn()).toBeCloseTo(before * 0.5);
  fireEvent.touchEnd(link, fingers([125, 100]));
  expect(fireEvent.touchMove(link, fingers([300, 100]))).toBe(true);
  expect(drawn()).toBeCloseTo(before * 0.5);
});

it('says the same in a table beneath the graph', async () => {
  const { user } = openPage('/?view=graph', view());
  await user.click(await screen.findByRole('button', { name: 'Table of 4 stages' }));
  const row = within(await screen.findByRole('row', { name: /^Pay/ }));
  expect(row.getAllByRole('cell').map(({ textContent }) => textContent)).toEqual(['Backlog', 'Cart', 'Login', 'Mail']);
  await user.click(screen.getByRole('button', { name: 'Table of 4 stages' }));
  expect(screen.queryByRole('table')).toBeNull();
});

it('shows a lane for each group within the columns, folds it, and still starts what is dragged to Running', async () => {
  const { user, server } = openPage('/', view());
  await user.click(await screen.findByRole('link', { name: 'Groups' }));
  expect(location.search).toBe('?view=lanes');
  const shop = await screen.findByRole('button', { name: /^shop/ });
  expect(shop.textContent).toBe('shop0 of 2 done');
  const ready = within(screen.getByRole('region', { name: 'Ready' }));
  expect(
    within(await ready.findByRole('list', { name: 'shop, Ready' })).getByRole('link', { name: 'Cart' }),
  ).toBeTruthy();
  server.answer({ start_stage: () => ({ stage: { ...stages.cart, column: 'running', session: null } }) });
  const row = ready.getByRole('link', { name: 'Cart' }).closest('li');
  const running = screen.getByRole('region', { name: 'Running' });
  const dataTransfer = { setData: () => undefined };
  if (row !== null) fireEvent.dragStart(row, { dataTransfer });
  await expect.poll(() => row?.dataset.dragging).toBe('true');
  fireEvent.dragOver(running, { dataTransfer });
  await within(running).findByText('Drop to start it');
  fireEvent.drop(running, { dataTransfer });
  await expect.poll(() => server.received).toMatchObject([{ command: 'start_stage', input: { stageId: 'STAGE-2' } }]);

  // All of it is done, so it is folded.
  const access = screen.getByRole('button', { name: /^access/ });
  expect(access.getAttribute('aria-expanded')).toBe('false');
  await user.click(access);
  await within(screen.getByRole('region', { name: 'Done' })).findByRole('link', { name: 'Login' });
  await user.click(shop);
  expect(ready.queryByRole('link', { name: 'Cart' })).toBeNull();
  cleanup();

  openPage('/?view=lanes', view());
  expect((await screen.findByRole('button', { name: /^shop/ })).getAttribute('aria-expanded')).toBe('false');
});

it('goes from one view to the next with V, and offers no groups and no graph where there are none', async () => {
  const { user } = openPage('/', view());
  await screen.findByRole('navigation', { name: 'Show the board as' });
  await user.keyboard('v');
  expect(location.search).toBe('?view=list');
  await screen.findByRole('table');
  await user.keyboard('v');
  expect(location.search).toBe('?view=lanes');
  await user.keyboard('v');
  await node('Pay');
  await user.keyboard('v');
  expect(location.search).toBe('');
  cleanup();

  openPage('/', board({ stages: [{ stage: stage('STAGE-1') }] }));
  await screen.findByRole('link', { name: 'Title of STAGE-1' });
  const views = within(screen.getByRole('navigation', { name: 'Show the board as' }));
  expect(views.getAllByRole('link').map(({ textContent }) => textContent)).toEqual(['Columns', 'List']);
});

it('changes the group of a stage in its details, and keeps what was stored when the server refuses', async () => {
  const { user, server } = openPage('/stages/STAGE-2?tab=details', view());
  const field = await screen.findByRole('combobox', { name: 'Group' });
  expect(field).toHaveProperty('value', 'shop');
  const own = { ...stages.cart, column: 'ready', session: null } as const;
  server.answer({ update_stage: ({ patch }) => ({ stage: { ...own, group: patch.group ?? null } }) });
  await user.clear(field);
  await user.type(field, 'checkout{Enter}');
  await expect
    .poll(() => server.received.filter(({ command }) => command === 'update_stage'))
    .toMatchObject([{ input: { stageId: 'STAGE-2', patch: { group: 'checkout' } } }]);
  server.emit('stage-updated', { stageId: own.id, stage: { ...stages.cart, group: 'checkout' } });
  await expect.poll(() => field).toHaveProperty('value', 'checkout');

  server.answer({ update_stage: () => problem('internal', 'The disk is full.') });
  await user.clear(field);
  await user.tab();
  await screen.findByText(/The disk is full/);
  await expect.poll(() => field).toHaveProperty('value', 'checkout');
});

it('puts all selected stages into one group', async () => {
  const { user, server } = openPage('/', view());
  await screen.findByRole('link', { name: 'Cart' });
  server.answer({ update_stage: () => ({ stage: { ...stages.cart, column: 'ready', session: null } }) });
  await user.keyboard('jx{ArrowLeft}x');
  const bar = within(await screen.findByRole('toolbar', { name: 'Selected stages' }));
  await user.click(bar.getByRole('button', { name: 'Group' }));
  const field = await screen.findByRole('combobox', { name: 'Group of the selected stages' });
  await user.type(field, 'checkout{Enter}');
  const sent = () => server.received.map(({ input }) => input);
  await expect.poll(() => sent().length).toBe(2);
  expect(sent()).toMatchObject([{ patch: { group: 'checkout' } }, { patch: { group: 'checkout' } }]);
  expect(new Set(sent().map((input) => JSON.stringify(input))).size).toBe(2);
  await expect.poll(() => screen.queryByRole('toolbar', { name: 'Selected stages' })).toBeNull();
});

it('keeps to the lane when an arrow key goes to the next column', async () => {
  const first = [stage('STAGE-5', { title: 'Other', group: 'aaa' }), stages.cart];
  const second = [stage('STAGE-6', { title: 'Other done', group: 'aaa', ...done }), { ...stages.login, group: 'shop' }];
  const { user } = openPage('/?view=lanes', board({ stages: [...first, ...second].map((one) => ({ stage: one })) }));
  await screen.findByRole('link', { name: 'Cart' });
  await user.keyboard('j');
  await expect.poll(() => document.activeElement?.textContent).toBe('Other');
  await user.keyboard('j');
  await expect.poll(() => document.activeElement?.textContent).toBe('Cart');
  await user.keyboard('{ArrowRight}');
  await expect.poll(() => document.activeElement?.textContent).toBe('Login');
});

it('moves cost and context in the row and in the head of the page while a turn runs', async () => {
  const tokens = { input: 1, output: 1, cacheRead: 0, cacheCreation: 0 };
  const using = (costUsd: number, percentage: number) =>
    session('STAGE-1', {
      state: 'busy',
      costUsd: 0.4,
      turnUsage: { costUsd, tokens },
      contextUsage: { usedTokens: percentage * 2_000, maxTokens: 200_000, percentage },
    });
  const own = stage('STAGE-1', { title: 'Login form' });
  const { user, server } = openPage('/', board({ stages: [{ stage: own, session: using(0.1, 12) }] }));
  const row = within(await screen.findByRole('region', { name: 'Running' }));
  await row.findByText('$0.50');
  await row.findByText('12%');
  server.emit('session-updated', using(0.35, 31));
  await row.findByText('$0.75');
  await row.findByText('31%');
  await user.click(row.getByRole('link', { name: 'Login form' }));
  await expect.poll(() => screen.queryByTitle('Cost so far')?.textContent).toBe('$0.75');
  server.emit('session-updated', using(0.6, 47));
  await expect.poll(() => screen.getByTitle('Cost so far').textContent).toBe('$1.00');
  await screen.findByText(/47\s?%/);
});
