import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { CROWD, showManyStages } from '../support/many-stages.ts';
import { openEmptyBoard } from '../support/test-board.ts';

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

/** The titles that are not shown whole. */
const cutTitles = (page: Page) =>
  page
    .getByRole('article')
    .getByRole('heading')
    .evaluateAll((titles) =>
      titles
        .filter((title) => {
          const text = document.createRange();
          text.selectNodeContents(title);
          const box = title.parentElement?.getBoundingClientRect();
          return text.getBoundingClientRect().bottom > (box?.bottom ?? 0) + 2;
        })
        .map(({ textContent }) => textContent),
    );

/** Opens the board of a crowd, with its requests set aside. */
async function openManyStages(times = 1) {
  const desk = await openEmptyBoard();
  await showManyStages(desk.page, times);
  await desk.page.goto(desk.origin);
  await desk.page.getByRole('dialog').waitFor();
  await desk.page.keyboard.press('Escape');
  await desk.page.getByRole('dialog').waitFor({ state: 'detached' });
  return desk;
}

it('draws of a long column only what is near the screen, and moves along all of it by key', async () => {
  const { page, errors } = await openManyStages(8);
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

it('stands fifty stages and more on 1440 x 900, all six columns at 1024, and 200 stages as a graph, which is moved, zoomed and opened from, or in lanes', async () => {
  const { page, errors } = await openManyStages(3);
  await page.setViewportSize({ width: 1440, height: 900 });
  await expect.poll(() => rowsOnScreen(page)).toBeGreaterThanOrEqual(50);
  expect(await cutTitles(page)).toEqual([]);
  await page.setViewportSize({ width: 1024, height: 768 });
  for (const name of COLUMNS) {
    const box = await page.getByRole('region', { name }).boundingBox();
    expect(box?.x, name).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0), name).toBeLessThanOrEqual(1024);
  }

  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole('link', { name: 'Graph' }).click();
  const graph = page.getByRole('region', { name: 'Graph of dependencies' });
  const nodes = graph.getByRole('link');
  await expect.poll(() => nodes.count()).toBe(CROWD * 3);
  const node = nodes.first();
  const place = async () => (await node.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };

  // Zooming keeps what is under the pointer where it is.
  const before = await place();
  await page.mouse.move(before.x + 2, before.y + 2);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -150);
  await page.keyboard.up('Control');
  await expect.poll(async () => (await place()).width).toBeGreaterThan(before.width * 1.2);
  expect(Math.abs((await place()).x - before.x)).toBeLessThan(30);

  // A press that moves the graph opens nothing; one that does not, opens the stage.
  const { x, y } = await place();
  await page.mouse.move(x + 20, y + 10);
  await page.mouse.down();
  await page.mouse.move(x - 100, y - 60, { steps: 4 });
  await page.mouse.up();
  await expect.poll(async () => (await place()).x).toBeLessThan(x - 80);
  expect(new URL(page.url()).search).toBe('?view=graph');
  await page.keyboard.press('0');
  const isWhole = () =>
    graph.evaluate((box) => box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight);
  await expect.poll(isWhole).toBe(true);
  await node.click();
  await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/stages\//);

  await page.goBack();
  await page.getByRole('link', { name: 'Groups' }).click();
  await page.getByRole('button', { name: /^Checkout/ }).waitFor();
  const columns = await Promise.all(COLUMNS.map((name) => page.getByRole('region', { name }).boundingBox()));
  expect(columns.every((box, at) => at === 0 || (box?.x ?? 0) > (columns[at - 1]?.x ?? 0))).toBe(true);
  const head = await page.getByRole('button', { name: /^Checkout/ }).boundingBox();
  expect(head?.width).toBeGreaterThan(1_400);
  const row = await page.getByRole('list', { name: 'Checkout, Running' }).getByRole('article').first().boundingBox();
  expect([Math.round(row?.x ?? 0)]).toEqual([Math.round((columns[2]?.x ?? 0) + 1)]);
  expect(row?.y ?? 0).toBeGreaterThan(head?.y ?? 0);
  expect(errors.filter((error) => !error.includes('404'))).toEqual([]);
});
