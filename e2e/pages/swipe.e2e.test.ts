import type { Locator, Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { apiOf } from '../support/scene.ts';
import { createInstance } from '../support/shared-instance.ts';

const exact = (name: string) => ({ name, exact: true });
const call = (name: string, input: Record<string, unknown>) => [{ tools: [{ name, input }] }, { text: 'Done.' }];
const write = (file: string, lines = 1) => call('Write', { file_path: file, content: 'a line\n'.repeat(lines) });

const SIZE = { width: 390, height: 844 };
const isShown = async (target: Locator) => {
  const { x = -1, y = -1 } = (await target.boundingBox()) ?? {};
  return x >= 0 && x < SIZE.width && y >= 0 && y < SIZE.height;
};

interface Pending {
  stageId: string;
  held?: object;
}

async function openPhone() {
  const window = { ...SIZE, hasTouch: true };
  const place = await createInstance(onTestFinished, { window, isEmulated: true });
  const { page } = place;
  const sheet = (title: string) => page.getByRole('dialog', { name: `${title}:` });
  const touch = await page.context().newCDPSession(page);
  const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...touchPoints: { x: number; y: number }[]) =>
    touch.send('Input.dispatchTouchEvent', { type, touchPoints });
  /** A finger on the element that moves so far; it is lifted unless it stays. */
  const swipe = async (on: Locator, x: number, y: number, stays = false) => {
    const box = await on.boundingBox();
    if (box === null) throw new Error('it is not on the screen');
    const from = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    await send('touchStart', from);
    for (let share = 1; share <= 10; share += 1)
      await send('touchMove', { x: from.x + (x * share) / 10, y: from.y + (y * share) / 10 });
    if (!stays) await send('touchEnd');
  };
  /** Resolves when the request can be decided. */
  const ready = async (title: string) => {
    const allow = sheet(title).getByRole('button', exact('Allow'));
    await expect.poll(() => allow.isEnabled(), { message: title }).toBe(true);
    const head = sheet(title).getByRole('heading').first();
    await expect.poll(() => isShown(head), { message: title }).toBe(true); // a card that was swiped away comes back
    return head;
  };
  const lift = () => send('touchEnd');
  return { ...place, api: apiOf(place.origin), sheet, swipe, lift, ready };
}

it('a card is swiped: right allows, left denies with a reason, up snoozes; each can be taken back', async () => {
  const { page, api, errors, sheet, swipe, lift, ready } = await openPhone();
  const login = await api.stage('Login form', write('login.txt', 60));
  const search = await api.stage('Search index', write('search.txt'));
  const danger = await api.stage('Clean up', call('Bash', { command: 'rm -rf dist', description: 'Clean up' }));
  await api.start(login);
  await sheet('Login form').waitFor();
  await api.start(search);
  await sheet('Login form').getByText('1 of 2').waitFor();
  const pending = async (): Promise<Pending[]> =>
    (await api.get('/api/board')).pending.map(({ stageId, held }: Pending) => ({ stageId, held }));

  // What the card would do is said at its edge; a finger that is lifted early, or after a pause, decides nothing.
  await swipe(await ready('Login form'), -60, 0, true);
  await sheet('Login form').getByText('Deny', { exact: true }).nth(1).waitFor();
  await lift();
  await sheet('Login form').getByText('Swipe: right allows, left denies, up snoozes').waitFor();

  // What is not shown as a whole is not allowed; a finger that scrolls it does nothing else.
  const card = sheet('Login form');
  await swipe(await ready('Login form'), 240, 0, true);
  await card.getByText('Not all of it is shown').waitFor();
  await lift();
  await card.getByRole('button', { name: /^Show \d+ more lines/ }).tap();
  const text = card.locator('[data-line]');
  await swipe(text.nth(5), 0, -240);
  const scroll = text.first().locator('xpath=ancestor::form/div[1]');
  await expect.poll(() => scroll.evaluate((element) => element.scrollTop)).toBeGreaterThan(100);
  await swipe(await ready('Login form'), 240, 0);
  await scroll.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  expect(await pending()).toEqual([{ stageId: login }, { stageId: search }]);

  const pressed = pressUndo(page);
  await swipe(await ready('Login form'), 240, 10);
  await pressed;
  await ready('Login form');
  expect(await pending()).toEqual([{ stageId: login }, { stageId: search }]);
  const called = pressUndo(page);
  await swipe(await ready('Login form'), 10, -240);
  await called;

  await swipe(await ready('Login form'), -240, 10);
  const reasons = page.getByRole('group', exact('Why not?'));
  const reason = reasons.getByRole('button', exact('Not needed'));
  await expect.poll(() => reason.isEnabled()).toBe(true);
  await reason.tap();
  await sheet('Search index').getByText('Denied', { exact: true }).waitFor();
  await expect
    .poll(async () => (await api.get(`/api/decisions?stageId=${login}`)).decisions)
    .toMatchObject([{ outcome: 'denied', reason: 'Not needed.' }]);

  await swipe(await ready('Search index'), 10, -240);
  await sheet('Search index').waitFor({ state: 'detached' });

  // What is marked is answered by its buttons.
  await api.start(danger);
  const head = await ready('Clean up');
  await sheet('Clean up').getByText('No swiping: deletes').waitFor();
  for (const [x, y] of [
    [300, 0],
    [-300, 0],
    [0, -300],
  ] as const)
    await swipe(head, x, y);
  expect((await pending()).filter(({ stageId }) => stageId === danger)).toEqual([{ stageId: danger }]);

  // The inbox has the same card.
  await sheet('Clean up').getByRole('button', exact('Snooze')).tap();
  await page
    .getByRole('link', { name: /^Inbox/ })
    .first()
    .tap();
  await page.getByRole('region', exact('Snoozed')).getByText('Search index').tap();
  const form = page.getByRole('form', { name: /^Search index:/ });
  await expect.poll(() => form.getByRole('button', exact('Allow')).isEnabled()).toBe(true);
  await swipe(page.getByRole('main').getByRole('heading', { level: 2 }).first(), 240, 0);
  await expect
    .poll(async () => (await api.get(`/api/decisions?stageId=${search}`)).decisions)
    .toMatchObject([{ outcome: 'allowed' }]);
  expect(errors).toEqual([]);
});

/** Presses Undo as soon as it is there, however slow the machine is. */
const pressUndo = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const check = () => {
          const undo = [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Undo');
          if (undo === undefined) return requestAnimationFrame(check);
          undo.click();
          return resolve();
        };
        check();
      }),
  );
