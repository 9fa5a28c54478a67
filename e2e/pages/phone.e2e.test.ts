import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { callApi } from '../support/api.ts';
import { apiOf } from '../support/scene.ts';
import { createInstance } from '../support/shared-instance.ts';
import type { TestBoard } from '../support/test-board.ts';
import { turnTo } from '../support/turn-to.ts';

const PHONE = { width: 390, height: 844 };
/** A small phone, and one whose keyboard takes half of the page. */
const SIZES = [PHONE, { width: 360, height: 640 }, { width: 390, height: 400 }];
const OTHER_PAGES = [
  ['/notifications', 'Notifications'],
  ['/rules', 'Rules'],
  ['/numbers', 'Numbers'],
  ['/search?q=script', 'Search'],
] as const;
const exact = (name: string) => ({ name, exact: true });
const script = Array.from({ length: 40 }, (_, n) => `touch file-${n} && echo "${n} is there"`).join('\n');
const run = (command: string) => [
  { tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] },
  { text: 'Done.' },
];

/** Whether the whole element is in the window and nothing stands over its middle or its corners. */
const isFree = (where: Locator) =>
  where.evaluate((element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const inside = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
    const points = [left + 8, (left + right) / 2, right - 8].flatMap((x) => [top + 8, bottom - 8].map((y) => [x, y]));
    return inside && points.every(([x = 0, y = 0]) => element.contains(document.elementFromPoint(x, y)));
  });

/** Holds a finger on the element until it has opened its actions. */
async function longPress(page: Page, target: Locator): Promise<void> {
  const { x = 0, y = 0 } = (await target.boundingBox()) ?? {};
  const session = await page.context().newCDPSession(page);
  await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x: x + 20, y: y + 10 }] });
  await page.getByRole('menu').waitFor();
  await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await session.detach();
}

const isNotTooWide = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

/** The controls that can be pressed and are smaller than a thumb needs. Links in a row or a text are as large as that. */
const tooSmall = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('button, nav a, select, [role="tab"]')]
      .filter((element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
      .map((element) => {
        const { width, height } = element.getBoundingClientRect();
        const after = getComputedStyle(element, '::after');
        // A part that is not seen may make the target larger.
        const more = after.content === 'none' || after.position !== 'absolute' ? 0 : -2 * Number.parseFloat(after.top);
        return { name: element.getAttribute('aria-label') ?? element.textContent, width, height: height + more };
      })
      .filter(({ width, height }) => width > 1 && height < 44)
      .map(({ name, height }) => `${name}: ${height}`),
  );

const ends: (() => void | Promise<void>)[] = [];
let own: TestBoard;
beforeAll(async () => {
  const window = { ...PHONE, hasTouch: true };
  const place = await createInstance((end) => void ends.unshift(end), { window, isEmulated: true });
  own = { ...place, api: apiOf(place.origin) };
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** A page of the phone that all tests share; what it has asked for is gone with it. */
async function openPhone(): Promise<TestBoard> {
  const page = await own.context.newPage();
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.goto(own.origin);
  await page.getByRole('region', { name: 'Backlog' }).waitFor({ state: 'attached' });
  own.errors.length = 0;
  onTestFinished(async () => {
    await page.close();
    for (const { id } of (await own.api.get('/api/board')).stages) {
      await callApi(own.origin, 'POST', `/api/stages/${id}/stop`, {});
      await callApi(own.origin, 'DELETE', `/api/stages/${id}`);
    }
  });
  return { ...own, page };
}

it('leaves what decides under the thumb on any phone, and all that is pressed as large as that', async () => {
  const { page, api, errors } = await openPhone();
  const long = await api.stage('Long script', run(script));
  const short = await api.stage('A stage whose title is longer than a phone is wide', run('touch made-by-claude'));
  await api.start(long);
  const sheet = page.getByRole('dialog');
  await sheet.waitFor();

  // A sheet at the bottom, whose buttons are in sight however long what is asked is.
  for (const size of SIZES) {
    await page.setViewportSize(size);
    await expect
      .poll(() => isFree(sheet.getByRole('button', exact('Allow'))), { message: `${size.height}` })
      .toBe(true);
    expect(await isFree(sheet.getByRole('button', exact('Deny')))).toBe(true);
    expect(await isFree(sheet.getByRole('heading', { name: 'Run this command?' }))).toBe(true);
    const { y = 0, height = 0, width } = (await sheet.boundingBox()) ?? {};
    expect([Math.round(y + height), width]).toEqual([size.height, size.width]);
    expect(await isNotTooWide(page)).toBe(true);
  }
  await page.setViewportSize(PHONE);
  expect(await tooSmall(page)).toEqual([]);
  await sheet.getByRole('button', exact('Snooze')).tap();
  await sheet.waitFor({ state: 'detached' });

  // The board: a tab for each column, and rows with room for their title.
  await api.start(short);
  await sheet.getByText('made-by-claude', { exact: true }).waitFor();
  await sheet.getByRole('button', exact('Snooze')).tap();
  await sheet.waitFor({ state: 'detached' });
  const row = page.getByRole('article', { name: /^A stage whose title/ });
  for (const size of SIZES) {
    await page.setViewportSize(size);
    await expect.poll(() => isFree(row.getByRole('button', exact('Allow')))).toBe(true);
    const { x = 0, width = 0 } = (await row.getByRole('heading').boundingBox()) ?? {};
    expect(x + width).toBeLessThan(size.width);
    expect(width).toBeGreaterThan(size.width / 2);
    expect(await isNotTooWide(page)).toBe(true);
  }
  await page.setViewportSize(PHONE);
  expect(await tooSmall(page)).toEqual([]);

  // The stage's page: its title, and the form above the message box.
  await turnTo(page, `/stages/${short}`);
  const form = page.getByRole('form');
  const allow = form.getByRole('button', exact('Allow'));
  for (const size of SIZES) {
    await page.setViewportSize(size);
    await expect.poll(() => isFree(allow), { message: `the form at ${size.height}` }).toBe(true);
    expect(await isFree(page.getByRole('textbox', exact('Message')))).toBe(true);
    expect((await page.getByRole('heading', { level: 1 }).boundingBox())?.width).toBeGreaterThan(80);
    expect(await isNotTooWide(page)).toBe(true);
  }
  await page.setViewportSize(PHONE);
  expect(await tooSmall(page)).toEqual([]);
  await allow.tap();
  await expect.poll(async () => (await api.get(`/api/stages/${short}`)).stage.column).toBe('review');

  // Going back, from a menu at the message, and back again.
  await longPress(page, page.getByRole('button', exact('Message actions')).first().locator('..'));
  const backToHere = page.getByRole('menuitem', exact('Back to here'));
  expect((await backToHere.boundingBox())?.height).toBeGreaterThanOrEqual(44);
  await backToHere.tap();
  const goBack = sheet.getByRole('button', exact('Go back'));
  await expect.poll(() => goBack.isEnabled()).toBe(true);
  expect(await tooSmall(page)).toEqual([]);
  expect(await isNotTooWide(page)).toBe(true);
  await goBack.tap();
  const undo = page.getByRole('button', exact('Undo'));
  await undo.waitFor();
  expect(await isFree(undo)).toBe(true);
  expect(await tooSmall(page)).toEqual([]);
  await undo.tap();
  await page.getByText('Done.', { exact: true }).waitFor();
  await undo.waitFor({ state: 'detached' });

  // The settings of a project.
  await turnTo(page, '/');
  await page.getByRole('button', { name: 'Projects' }).tap();
  await page.getByRole('menuitem').first().tap();
  await page.getByRole('textbox', { name: 'Set-up command' }).scrollIntoViewIfNeeded();
  expect(await tooSmall(page)).toEqual([]);
  expect(await isNotTooWide(page)).toBe(true);

  // The inbox: the request fills the page, and its buttons stay at the bottom.
  await page.keyboard.press('Escape'); // of the settings
  await sheet.waitFor({ state: 'detached' });
  await turnTo(page, '/inbox');
  await page.getByRole('main').getByText('Long script').first().tap();
  await expect.poll(() => isFree(page.getByRole('main').getByRole('button', exact('Allow')))).toBe(true);
  expect(await tooSmall(page)).toEqual([]);

  // A tap answers at once, and can be taken back for two seconds: then the form is back, and nothing was decided.
  const undone = page.evaluate(pressUndo);
  await page.getByRole('main').getByRole('button', exact('Allow')).tap();
  expect(await undone).toBeGreaterThanOrEqual(44);
  await expect.poll(() => isFree(page.getByRole('main').getByRole('button', exact('Allow')))).toBe(true);
  const { pending } = await api.get('/api/board');
  expect(pending).toMatchObject([{ stageId: long }]);
  expect(pending[0]).not.toHaveProperty('held');

  for (const [path, heading] of OTHER_PAGES) {
    await turnTo(page, path);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    if (await sheet.isVisible()) await sheet.getByRole('button', exact('Snooze')).tap();
    expect({ path, small: await tooSmall(page), fits: await isNotTooWide(page) }).toEqual({
      path,
      small: [],
      fits: true,
    });
  }
  expect(errors).toEqual([]);
});

/** Where a finger lands that aims at the element. */
async function middleOf(target: Locator): Promise<{ x: number; y: number }> {
  const box = await target.boundingBox();
  if (box === null) throw new Error('it is not on the screen');
  return { x: Math.round(box.x + box.width / 2), y: Math.round(box.y + box.height / 2) };
}

it('ignores a tap that began before the request was drawn, and accepts a later one', async () => {
  const { page, context, api, errors } = await openPhone();
  await page.setViewportSize({ width: 1280, height: 800 });
  const stageId = await api.stage('Login form', run('touch a.txt'));
  await api.start(stageId);
  const dialog = page.getByRole('dialog', { name: 'Login form: Run this command?' });
  const allow = dialog.getByRole('button', exact('Allow'));
  await expect.poll(() => allow.isEnabled()).toBe(true);
  const { x, y } = await middleOf(allow);
  await dialog.getByRole('button', exact('Snooze')).tap();
  await dialog.waitFor({ state: 'detached' });

  // The finger is already down when the request appears under it, and is lifted from its button.
  const touch = await context.newCDPSession(page);
  const clicked = page.evaluate(
    () => new Promise((resolve) => document.addEventListener('touchend', resolve, { capture: true, once: true })),
  );
  await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
  await page.keyboard.press('c');
  await allow.waitFor();
  await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await clicked;
  await expect.poll(() => allow.isEnabled()).toBe(true);
  expect((await api.get('/api/board')).pending).toHaveLength(1);

  const now = await middleOf(allow);
  await page.touchscreen.tap(now.x, now.y);
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  const { decisions } = await api.get(`/api/decisions?stageId=${stageId}`);
  expect(decisions).toMatchObject([{ outcome: 'allowed' }]);
  expect(errors).toEqual([]);
});

/** Presses Undo as soon as it is there, however slow the machine is, and returns its height. */
const pressUndo = () =>
  new Promise<number>((resolve) => {
    const check = () => {
      const undo = [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Undo');
      if (undo === undefined) {
        requestAnimationFrame(check);
        return;
      }
      resolve(undo.getBoundingClientRect().height);
      undo.click();
    };
    check();
  });
