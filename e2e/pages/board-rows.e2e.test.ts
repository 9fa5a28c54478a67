import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { CROWD, showCrowd } from '../support/crowd.ts';
import { openDesk } from '../support/desk.ts';

const COLUMNS = ['Backlog', 'Ready', 'Running', 'Needs you', 'Review', 'Done'];

/** The rows that stand on the screen as a whole. */
const rowsOnScreen = (page: Page) =>
  page.evaluate(
    () =>
      [...document.querySelectorAll('article')].filter((row) => {
        const { left, top, right, bottom } = row.getBoundingClientRect();
        const isInside = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
        return isInside && row.checkVisibility({ contentVisibilityAuto: true });
      }).length,
  );

/** Opens the board of a crowd, with its requests set aside. */
async function openCrowd(times = 1) {
  const desk = await openDesk();
  await showCrowd(desk.page, times);
  await desk.page.goto(desk.origin);
  await desk.page.getByRole('dialog').waitFor();
  await desk.page.keyboard.press('Escape');
  await desk.page.getByRole('dialog').waitFor({ state: 'detached' });
  return desk;
}

it('stands fifty stages and more on 1440 x 900, and shows all six columns at 1024', async () => {
  const { page, errors } = await openCrowd();
  await page.setViewportSize({ width: 1440, height: 900 });
  await expect.poll(() => page.getByRole('article').count()).toBe(CROWD);
  await expect.poll(() => rowsOnScreen(page)).toBeGreaterThanOrEqual(50);

  await page.setViewportSize({ width: 1024, height: 768 });
  for (const name of COLUMNS) {
    const box = await page.getByRole('region', { name }).boundingBox();
    expect(box?.x, name).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0), name).toBeLessThanOrEqual(1024);
  }
  // The server knows none of the crowd's requests.
  expect(errors.filter((error) => !error.includes('404'))).toEqual([]);
});

it('draws of a long column only what is near the screen, and moves along all of it by key', async () => {
  const { page, errors } = await openCrowd(8);
  await page.setViewportSize({ width: 1440, height: 900 });
  const done = page.getByRole('region', { name: 'Done' });
  await expect.poll(() => done.getByRole('article').count()).toBeGreaterThan(10);
  expect(await page.getByRole('article').count()).toBeLessThan(CROWD * 4);
  await done.getByRole('link').first().focus();
  const first = await page.evaluate(() => document.activeElement?.getAttribute('data-card'));
  await page.keyboard.press('End');
  const last = async () => {
    const now = await page.evaluate(() => document.activeElement?.getAttribute('data-card'));
    return now !== null && now !== first && (await done.locator(`[data-card="${now}"]`).isVisible());
  };
  await expect.poll(last).toBe(true);
  // The server knows none of the crowd's requests.
  expect(errors.filter((error) => !error.includes('404'))).toEqual([]);
});
