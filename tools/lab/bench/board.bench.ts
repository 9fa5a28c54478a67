import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { it, onTestFinished } from 'vitest';
import { openBrowser } from '../../../e2e/support/browser.ts';
import { install } from '../../../e2e/support/callboard.ts';
import { apiOf } from '../../../e2e/support/scene.ts';
import { frameFigures, recordFrames } from './frames.ts';
import { recordPlainList } from './plain-list.ts';
import { report } from './results.ts';

const ROWS = 500;
const CHANGES = 100;
const SCROLLS = 60;

it('measures the frames of a board of 500 stages beside an empty one', { timeout: 300_000 }, async () => {
  const { start } = await install();
  const { loginLink, origin, stop } = await start();
  onTestFinished(stop);
  const { page } = await openBrowser({ width: 1440, height: 900 });
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Ready' }).waitFor();
  const wheel = async () => {
    await page.getByRole('region', { name: 'Ready' }).hover();
    await turnWheel(page);
  };
  const empty = await recordFrames('empty board', page, wheel);

  const api = apiOf(origin);
  const ids: string[] = [];
  for (let n = 0; n < ROWS; n += 1) {
    const fields = { projectId: 'shop', title: `Stage number ${n}`, prompt: 'Do it.' };
    ids.push((await api.post('/api/stages', fields)).stage.id);
    await sleep(12); // at most 100 commands a second
  }
  const last = `Stage number ${ROWS - 1}`;
  const begun = performance.now();
  await page.reload();
  await page.getByRole('region', { name: 'Ready' }).getByText('Stage number', { exact: false }).first().waitFor();
  const openMs = performance.now() - begun;
  const scrolling = await recordFrames('board scrolled', page, wheel);
  const changing = await recordFrames('board changed', page, async () => {
    for (let n = 0; n < CHANGES; n += 1) {
      await api.patch(`/api/stages/${ids[(n * 37) % ROWS]}`, { title: `Stage renamed ${n}` });
      await sleep(20);
    }
  });
  const typing = await recordFrames('board filtered', page, async () => {
    await page.keyboard.press('/');
    await page.keyboard.type(last, { delay: 40 });
  });
  const plain = await recordPlainList(page, { height: 49, words: 6 }, turnWheel);
  report('board', [
    { name: `a board of ${ROWS} rows opens`, value: openMs, unit: 'ms' },
    ...frameFigures(`scrolling ${ROWS} rows`, scrolling, empty, plain),
    ...frameFigures(`${CHANGES} changes of ${ROWS} rows`, changing, empty),
    ...frameFigures(`filtering ${ROWS} rows`, typing, empty),
  ]);
});

async function turnWheel(page: Page): Promise<void> {
  for (let n = 0; n < SCROLLS; n += 1) {
    await page.mouse.wheel(0, n < SCROLLS / 2 ? 150 : -150);
    await sleep(16);
  }
}
