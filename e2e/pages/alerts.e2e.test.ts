import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { openOwnDesk } from '../support/desk.ts';

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

const look = (page: Page, to: 'visible' | 'hidden') =>
  page.evaluate((visibility) => (globalThis as Seen).setVisibility(visibility), to);
const shown = (page: Page) => page.evaluate(() => (globalThis as Seen).shownNotifications);

it('tells what waits, failed and finished in title and icon, and notifies once, and only when nobody looks', async () => {
  const { page, context, origin, api, errors } = await openOwnDesk(
    (_callboard, context) => context.addInitScript(inEveryPage),
    { hasNotifications: true },
  );
  await context.grantPermissions(['notifications'], { origin });
  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Notify me' }).click();
  await page.keyboard.press('Escape');
  const second = await context.newPage();
  await second.goto(`${origin}/sessions`);
  await second.getByRole('heading', { name: 'Sessions' }).waitFor();
  const start = async (title: string) => api.start(await api.stage(title, [bash(`touch ${title}`), { text: 'Done.' }]));
  const titles = async () => [await page.title(), await second.title()];
  // Either tab may be the one that notifies.
  const all = async () => [...(await shown(page)), ...(await shown(second))].toSorted();

  // A person looks at one tab, though not this one.
  await look(page, 'hidden');
  await start('One');
  await expect.poll(titles).toEqual(['(1) Callboard', '(1) Sessions · Callboard']);
  await second.getByRole('dialog', { name: 'One: Run this command?' }).waitFor();

  await look(second, 'hidden');
  await start('Two');
  await expect.poll(titles).toEqual(['(2) Callboard', '(2) Sessions · Callboard']);
  await expect.poll(all).toEqual(['Two: Run this command?']);

  // Answered requests are no longer counted, even in a tab that nobody looks at.
  await look(second, 'visible');
  await second.getByRole('dialog').getByRole('button', exact('Allow')).click();
  await expect.poll(titles).toEqual(['(1) Callboard', '(1) Sessions · Callboard']);
  await start('Three');
  await expect.poll(titles).toEqual(['(2) Callboard', '(2) Sessions · Callboard']);
  const icon = () => page.locator('link[rel="icon"]').getAttribute('href');
  await expect.poll(icon).toBe('/favicon-needs-you.svg');
  for (let left = 2; left > 0; left -= 1) {
    await second.getByRole('dialog').getByRole('button', exact('Allow')).click();
    await expect.poll(() => page.title()).toBe(left === 1 ? 'Callboard' : '(1) Callboard');
  }
  await expect.poll(icon).toBe('/favicon.svg');
  expect(await all()).toEqual(['Two: Run this command?']);

  // A stage that cannot go on needs somebody as well: the column, the badge, the title and the icon show the same number.
  const review = page.getByRole('region', { name: 'Review' });
  await review.locator('header').getByText('3', { exact: true }).waitFor(); // they finished while somebody looked
  await look(second, 'hidden');
  const denied = { error: { status: 403, type: 'permission_error', message: 'No access' } };
  await api.start(await api.stage('Nightly export', [denied]));
  await expect.poll(titles).toEqual(['(1 failed) Callboard', '(1 failed) Sessions · Callboard']);
  await expect.poll(icon).toBe('/favicon-failed.svg');
  await expect.poll(all).toEqual([expect.stringMatching(/^Nightly export: .*failed/), 'Two: Run this command?']);

  // A stage that finished is a third signal, and no call.
  await api.start(await api.stage('Changelog', [{ text: 'Done.' }]));
  await expect
    .poll(titles)
    .toEqual(['(1 failed, 1 finished) Callboard', '(1 failed, 1 finished) Sessions · Callboard']);
  await expect.poll(all).toContain('Changelog: ready for review');
  await look(second, 'visible');
  await expect.poll(titles).toEqual(['(1 failed) Callboard', '(1 failed) Sessions · Callboard']);
  await page.getByRole('region', { name: 'Needs you' }).locator('header').getByText('1', { exact: true }).waitFor();
  await page.getByRole('link', exact('Inbox 1')).waitFor();
  await page.getByRole('button', exact('1 stage needs you')).waitFor();

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
