import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { openOwnBoard } from '../support/test-board.ts';

const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] });
const exact = (name: string) => ({ name, exact: true });

/** A script for the pages from the start: it lets the test hide them, and records which notifications they showed. */
function inEveryPage(): void {
  const state = { visibility: 'visible', shown: [] as string[] };
  Object.defineProperty(document, 'visibilityState', { get: () => state.visibility });
  Object.assign(window, {
    shownNotifications: state.shown,
    setVisibility: (visibility: string) => {
      state.visibility = visibility;
      document.dispatchEvent(new Event('visibilitychange'));
    },
    Notification: class extends Notification {
      constructor(title: string, options?: NotificationOptions) {
        super(title, options);
        state.shown.push(title);
      }
    },
  });
}

type Seen = typeof globalThis & { shownNotifications: string[]; setVisibility: (to: string) => void };

const check = (page: Page, to: 'visible' | 'hidden') =>
  page.evaluate((visibility) => (globalThis as Seen).setVisibility(visibility), to);
const shown = (page: Page) => page.evaluate(() => (globalThis as Seen).shownNotifications);

it('tells what waits in title and icon of every tab, and notifies once, and only when nobody looks', async () => {
  const { page, context, origin, api, errors } = await openOwnBoard(
    (_callboard, context) => context.addInitScript(inEveryPage),
    { hasNotifications: true },
    true, // it is about the tabs of a browser
  );
  await context.grantPermissions(['notifications'], { origin });
  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Notify me' }).click();
  await page.keyboard.press('Escape');
  const second = await context.newPage();
  await second.goto(`${origin}/rules`);
  await second.getByRole('heading', { name: 'Rules' }).waitFor();
  const start = async (title: string) => api.start(await api.stage(title, [bash(`touch ${title}`), { text: 'Done.' }]));
  const titles = async () => [await page.title(), await second.title()];
  // Either tab may be the one that notifies.
  const all = async () => [...(await shown(page)), ...(await shown(second))].toSorted();

  // A person looks at one tab, though not this one.
  await check(page, 'hidden');
  await start('One');
  await expect.poll(titles).toEqual(['(1) Callboard', '(1) Rules · Callboard']);
  await second.getByRole('dialog', { name: 'One: Run this command?' }).waitFor();

  await check(second, 'hidden');
  await start('Two');
  await expect.poll(titles).toEqual(['(2) Callboard', '(2) Rules · Callboard']);
  await expect.poll(all).toEqual(['Two: Run this command?']);

  // Answered requests are no longer counted, even in a tab that nobody looks at.
  await check(second, 'visible');
  await second.getByRole('dialog').getByRole('button', exact('Allow')).click();
  await expect.poll(titles).toEqual(['(1) Callboard', '(1) Rules · Callboard']);
  const icon = () => page.locator('link[rel="icon"]').getAttribute('href');
  await expect.poll(icon).toBe('/favicon-needs-you.svg');
  await second.getByRole('dialog').getByRole('button', exact('Allow')).click();
  await expect.poll(titles).toEqual(['Callboard', 'Rules · Callboard']);
  await expect.poll(icon).toBe('/favicon.svg');
  expect(await all()).toEqual(['Two: Run this command?']);

  // A revoked permission is not shown as granted.
  const isOn = async () => {
    await page.reload();
    await page.getByRole('button', { name: 'Account' }).click();
    return page.getByRole('menuitemcheckbox', { name: 'Notify me' }).getAttribute('aria-checked');
  };
  await expect.poll(isOn).toBe('true');
  await context.clearPermissions();
  await expect.poll(isOn).toBe('false');
  expect(errors).toEqual([]);
});
