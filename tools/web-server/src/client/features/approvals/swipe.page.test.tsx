import { DEFAULT_ALERTS, type Me, type PendingRequest, StageId } from '@callboard/contract';
import { fireEvent, screen, within } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { WAIT_MS } from '../../../../../../test-support/until.ts';
import { openPage } from '../../test/open-page.tsx';
import { at, board, request, session, stage } from '../../test/samples.ts';

const ADA: Me = { name: 'Ada', presentation: 'overlay', later: [], alerts: DEFAULT_ALERTS };

/** A phone on which two stages ask; the ids are the test's own, as a tab remembers what it answered. */
function openPhone(name: string, change: Partial<PendingRequest> = {}, snoozedIn?: string) {
  vi.stubGlobal('matchMedia', (media: string) =>
    Object.assign(new EventTarget(), { media, matches: /coarse/.test(media) }),
  );
  const pending = [
    request('STAGE-1', `${name}-1`, { createdAt: at(1), input: { command: 'ls' }, ...change }),
    request('STAGE-2', `${name}-2`, { createdAt: at(2), input: { command: 'ls src' } }),
  ];
  const stages = ['Login form', 'Search index'].map((title, nth) => ({
    stage: stage(`STAGE-${nth + 1}`, { title }),
    session: session(`STAGE-${nth + 1}`, { state: 'waiting' }),
  }));
  const later =
    snoozedIn === undefined ? [] : pending.map(({ stageId, requestId }) => ({ stageId, requestId, until: null }));
  const { user, server } = openPage(snoozedIn ?? '/', { ...board({ stages, pending }), me: { ...ADA, later } });
  server.answer({
    get_drafts: () => ({ drafts: [] }),
    approve_tool: () => ({ heldUntil: at(60) }),
    set_later: ({ requestId }) => ({ later: { stageId: StageId.parse('STAGE-1'), requestId, until: null } }),
  });
  const sent = () =>
    server.received.flatMap(({ command, input }) =>
      ['approve_tool', 'set_later'].includes(command) && JSON.stringify(input).includes(name)
        ? [{ command, input }]
        : [],
    );
  return { user, sent };
}

const dialog = async (title: string) => within(await screen.findByRole('dialog', { name: new RegExp(`^${title}:`) }));

/** Its card, half a second after it was drawn. */
async function ready(title: string): Promise<Element> {
  const card = await dialog(title);
  const allow = card.getByRole('button', { name: 'Allow' });
  await expect.poll(() => allow.getAttribute('aria-disabled')).toBeNull();
  return card.getByRole('heading');
}

/** A finger that goes so far on the card of 1280 pixels. */
function swipe(on: Element, x: number, y = 0): void {
  const finger = (clientX: number, clientY: number) => ({ changedTouches: [{ clientX, clientY }], touches: [{}] });
  fireEvent.pointerDown(on, { pointerType: 'touch' });
  fireEvent.touchStart(on, finger(0, 0));
  for (const share of [0.2, 0.6, 1]) fireEvent.touchMove(on, finger(x * share, y * share));
  fireEvent.touchEnd(on, { ...finger(x, y), touches: [] });
}

it('a card that is swiped to the right is allowed, with Undo; the next one follows', async () => {
  const { sent } = openPhone('right');
  swipe(await ready('Login form'), 700);
  const next = await dialog('Search index');
  expect(sent()).toMatchObject([
    { command: 'approve_tool', input: { requestId: 'right-1', decision: 'allow', hold: true } },
  ]);
  next.getByText('Allowed');
  next.getByRole('button', { name: 'Undo' });
});

it('a card that is swiped to the left asks why, and a reason denies it', async () => {
  const { user, sent } = openPhone('left');
  swipe(await ready('Login form'), -700);
  const reasons = within(await screen.findByRole('group', { name: 'Why not?' }));
  const risky = reasons.getByRole('button', { name: 'Too risky' });
  expect(sent()).toEqual([]);
  await expect.poll(() => risky.hasAttribute('disabled')).toBe(false);
  await user.pointer({ keys: '[TouchA]', target: risky });
  (await dialog('Search index')).getByText('Denied');
  expect(sent()).toMatchObject([
    { input: { requestId: 'left-1', decision: 'deny', reason: 'Too risky.', hold: true } },
  ]);
});

it('a card that is swiped up is snoozed, and Undo calls it back', async () => {
  const { user, sent } = openPhone('up');
  swipe(await ready('Login form'), 0, -700);
  const next = await dialog('Search index');
  next.getByText('Snoozed');
  await user.click(next.getByRole('button', { name: 'Undo' }));
  await expect.poll(sent).toMatchObject([
    { command: 'set_later', input: { requestId: 'up-1' } },
    { command: 'set_later', input: { requestId: 'up-1', until: null } },
  ]);
});

it('a swipe that began before the card had stood for half a second does nothing', async () => {
  const { sent } = openPhone('early');
  swipe(
    await vi.waitUntil(() => document.querySelector('[role="dialog"] h2'), { interval: 10, timeout: WAIT_MS }),
    700,
  );
  swipe(await ready('Login form'), 0, -700);
  await dialog('Search index');
  expect(sent()).toMatchObject([{ command: 'set_later' }]);
});

it.each([
  ['marked', { stakes: [{ code: 'deletes', text: 'Deletes dist.', command: null }] }, 'No swiping: deletes'],
  ['outside', { leavesSandbox: { reason: null } }, 'No swiping: outside the sandbox'],
  ['another', { kind: 'network', input: { host: 'example.org' } }, 'No swiping'],
] as const)('says that a request is answered by its buttons only: %s', async (name, change, text) => {
  const { user, sent } = openPhone(name, { ...change, stakes: 'stakes' in change ? [...change.stakes] : [] });
  const card = await ready('Login form');
  (await dialog('Login form')).getByText(text);
  for (const [x, y] of [
    [900, 0],
    [-900, 0],
    [0, -900],
  ] as const)
    swipe(card, x, y);
  expect(screen.queryByRole('group', { name: 'Why not?' })).toBeNull();
  await user.click((await dialog('Login form')).getByRole('button', { name: 'Deny' }));
  await dialog('Search index');
  expect(sent()).toMatchObject([{ input: { decision: 'deny' } }]);
});

it('a command that is not shown as a whole is not allowed by a swipe, nor one with a reason to deny it', async () => {
  const { user, sent } = openPhone('cut', { input: { command: 'ls\n'.repeat(200) } });
  const head = await ready('Login form');
  const card = await dialog('Login form');
  swipe(head, 700);
  await user.click(card.getByRole('button', { name: /^Show \d+ more lines/ }));
  await user.type(card.getByRole('textbox', { name: 'Reason' }), 'no');
  swipe(head, 700);
  await user.clear(card.getByRole('textbox', { name: 'Reason' }));
  expect(sent()).toEqual([]);
  swipe(head, 700);
  await dialog('Search index');
  expect(sent()).toHaveLength(1);
});

it('the card in the inbox is swiped too; one that is snoozed stays where it is', async () => {
  const { sent } = openPhone('snoozed', {}, '/inbox');
  const form = within(await screen.findByRole('form', { name: /^Login form:/ }));
  const allow = form.getByRole('button', { name: 'Allow' });
  await expect.poll(() => allow.getAttribute('aria-disabled')).toBeNull();
  swipe(allow, 0, -700);
  swipe(allow, 700);
  await screen.findByRole('form', { name: /^Search index:/ });
  expect(sent()).toMatchObject([{ command: 'approve_tool', input: { requestId: 'snoozed-1', decision: 'allow' } }]);
});

it('a page that is no phone has no swiping', async () => {
  const { sent } = openPhone('desk');
  vi.stubGlobal('matchMedia', (media: string) => Object.assign(new EventTarget(), { media, matches: false }));
  swipe(await ready('Login form'), 700);
  expect(sent()).toEqual([]);
});
