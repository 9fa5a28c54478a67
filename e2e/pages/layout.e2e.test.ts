import type { Locator, Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { ALL } from '../../test-support/variants.ts';
import { axe, findings } from '../support/axe.ts';
import { openBrowser } from '../support/browser.ts';
import { install } from '../support/callboard.ts';
import { removeOrchestrator } from '../support/remove-orchestrator.ts';
import { apiOf } from '../support/scene.ts';
import { openEmptyBoard } from '../support/test-board.ts';
import { turnTo } from '../support/turn-to.ts';

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 800 };
const exact = (name: string) => ({ name, exact: true });
const refused = { error: { status: 403, type: 'permission_error', message: 'No access' } };

/** How far below the top of the page the element is, once it stops moving. */
async function topOf(where: Locator): Promise<number> {
  let top = Number.NaN;
  await expect
    .poll(async () => {
      top = Math.round((await where.boundingBox())?.y ?? Number.NaN);
      return top;
    })
    .not.toBeNaN();
  return top;
}

/** The places of all controls and fields of the page, without those in the header. */
const places = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('#main :is(a, button, input, textarea, select)')]
      .filter((element) => element.checkVisibility())
      .map((element) => {
        const { left, top, width, height } = element.getBoundingClientRect();
        // How long something waits may be told anew by the clock of a server that has come back.
        const name = (element.getAttribute('aria-label') ?? element.textContent).replaceAll(/\d+ s(?=\D|$)/g, 'some s');
        return `${name}: ${[left, top, width, height].map(Math.round).join(' ')}`;
      }),
  );

/** Waits until two checks, a moment apart, find the same places. */
async function hasSettled(page: Page): Promise<void> {
  let last: string[] = [];
  await expect
    .poll(async () => {
      const before = last;
      last = await places(page);
      return before.join() === last.join();
    })
    .toBe(true);
}

async function inBothSchemes(page: Page, where: string): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    found.push(...(await findings(page, `${where}, ${colorScheme}`)));
  }
  return found;
}

/** The middle of each link in the header, and what is there now. */
const linksAt = (page: Page, points: Record<string, readonly [number, number]>) =>
  page.evaluate(
    (all) =>
      Object.entries(all).map(([, [x, y]]) => document.elementFromPoint(x, y)?.closest('a, button')?.textContent ?? ''),
    points,
  );

async function middles(page: Page): Promise<Record<string, readonly [number, number]>> {
  const found: Record<string, readonly [number, number]> = {};
  for (const link of await page.getByRole('banner').locator('a, button').all()) {
    const box = await link.boundingBox();
    if (box === null) continue;
    found[`${Object.keys(found).length}`] = [box.x + box.width / 2, box.y + box.height / 2];
  }
  return found;
}

it('moves nothing that can be pressed when the orchestrator goes and comes back, on the board and on a stage', async () => {
  const { start } = await install();
  const { loginLink, origin, supervisor, stop } = await start();
  onTestFinished(stop);
  const { page: first, context } = await openBrowser();
  await first.goto(loginLink);
  const api = apiOf(origin);
  const failed = await api.stage('Nightly export', [refused]);
  await api.start(failed);
  await first.getByRole('region', { name: 'Needs you' }).getByText('the last turn failed').waitFor();
  const views = new Map<string, Page>();
  const paths = ['/', `/stages/${failed}`];
  // Two pages represent the others, whose frame and rows are the same.
  for (const path of ALL ? [...paths, `/stages/${failed}?tab=details`, '/inbox', '/?view=list', '/decisions'] : paths) {
    const page = path === '/' ? first : await context.newPage();
    if (page !== first) await page.goto(origin + path);
    await page.getByRole('main').getByRole('heading').first().waitFor();
    await page.clock.setFixedTime(new Date()); // texts for elapsed time vary in width
    views.set(path, page);
  }
  const before = new Map<string, string[]>();
  const points = new Map<string, Record<string, readonly [number, number]>>();
  const check = async (visit: (key: string, page: Page) => Promise<void>) => {
    for (const [path, page] of views) {
      await page.bringToFront(); // behind another page it learns no new size
      for (const size of [DESKTOP, PHONE]) {
        await page.setViewportSize(size);
        await hasSettled(page);
        await visit(`${path} at ${size.width}`, page);
      }
    }
  };
  const there = new Map<string, string[]>();
  const findsTheSame = async () => {
    const last = [...before.values()].join();
    await check(async (key, page) => {
      before.set(key, await places(page));
      const found = await middles(page);
      points.set(key, found);
      there.set(key, await linksAt(page, found));
    });
    return [...before.values()].join() === last;
  };
  // By then everything that comes late has come. One check goes through all pages in two sizes: 8 s on a busy machine.
  await expect.poll(findsTheSame, { timeout: 90_000 }).toBe(true);

  const recover = await removeOrchestrator(supervisor.pid);
  for (const page of views.values()) await page.getByText('The orchestrator does not answer.').waitFor();
  await check(async (key, page) => {
    await expect.poll(() => places(page), { message: key }).toEqual(before.get(key));
    expect(await linksAt(page, points.get(key) ?? {}), key).toEqual(there.get(key));
    const bar = page.getByText('The orchestrator does not answer.');
    expect(await bar.evaluate((element) => element.scrollWidth <= element.clientWidth), key).toBe(true);
  });

  recover();
  for (const page of views.values())
    await page.getByText('The orchestrator does not answer.').waitFor({ state: 'hidden' });
  await check((key, page) => expect.poll(() => places(page), { message: key }).toEqual(before.get(key)));
});

/** Puts the clock of the pages forward, by what the page keeps: `page.clock` would do so for all pages of the browser. */
function forward(): void {
  const ms = Number(sessionStorage.getItem('forward') ?? 0);
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given: []) {
      super(...(given.length === 0 ? ([Real.now() + ms] as unknown as []) : given));
    }
    static override now(): number {
      return Real.now() + ms;
    }
  } as DateConstructor;
}

it('keeps the buttons of a card in place, however long it has waited', async () => {
  const { page, origin, api, errors } = await openEmptyBoard();
  await page.addInitScript(forward);
  const install = { name: 'Bash', input: { command: 'npm install', description: 'Install' } };
  await api.start(await api.stage('Package', [{ tools: [install] }, { text: 'Done.' }]));
  await page.goto(origin);
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const card = page.getByRole('article', { name: 'Package' });
  const checks: string[] = [];
  for (const minutes of [9, 59]) {
    await page.evaluate((ms) => sessionStorage.setItem('forward', String(ms)), minutes * 60_000 + 20_000);
    await page.reload();
    await card.getByText(`${minutes} min`).waitFor();
    const allow = await card.getByRole('button', exact('Allow')).boundingBox(); // loaded beside the board
    const { y = 0, height = 0 } = (await card.boundingBox()) ?? {};
    checks.push(`${y} ${height} ${allow?.x} ${allow?.y}`);
  }
  expect(new Set(checks).size).toBe(1);
  expect(errors).toEqual([]);
});

it('has room on a phone for the controls that end a stage, and for the filters of the decisions', async () => {
  const { page, origin, api, errors } = await openEmptyBoard();
  await page.addInitScript(axe);
  await page.setViewportSize(PHONE);
  const failed = await api.stage('Nightly export', [refused]);
  await api.start(failed);
  await page.goto(`${origin}/?view=list`);
  const row = page.getByRole('row', { name: /Nightly export/ });
  await row.getByText('Last turn failed').waitFor();
  await row.getByText('No access').waitFor();
  await turnTo(page, `/stages/${failed}`);
  const actions = ['Continue', 'Finish', 'More'].map((name) => page.getByRole('button', exact(name)));
  await expect.poll(async () => new Set(await Promise.all(actions.map(topOf))).size).toBe(1);

  // The transcript begins where there is something to read.
  const transcript = page.getByRole('region', { name: 'Transcript' });
  const above = async () => (await topOf(transcript.locator('[data-index="0"]'))) - (await topOf(transcript));
  await expect.poll(above).toBe(16);
  const found = await inBothSchemes(page, 'a stage that failed');

  // So it does on a page as low as at 200 % zoom.
  await page.setViewportSize({ width: 640, height: 400 });
  await expect.poll(async () => (await transcript.boundingBox())?.height).toBeGreaterThan(150);
  await page.setViewportSize(PHONE);

  await page.getByRole('button', exact('Finish')).click();
  await page.getByRole('dialog').getByRole('button', exact('Finish')).click();
  await page.getByText('Done', { exact: true }).first().waitFor();

  await turnTo(page, '/decisions');
  // Other tests on this Callboard leave decisions of every kind: this stage has none.
  const stage = page.getByRole('combobox', { name: 'Stage' });
  await page.getByRole('button', exact('Filters')).click();
  await stage.selectOption(failed);
  await page.getByText('No decision matches these filters.').waitFor();
  const filters = page.getByRole('search', { name: 'Filter the decisions' });
  expect(await filters.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
  found.push(...(await inBothSchemes(page, 'the filters')));
  expect(found).toEqual([]);
  await page.getByRole('button', { name: 'Filters (1 set)' }).click();
  await stage.waitFor({ state: 'hidden' });
  await page.getByRole('button', exact('Show all')).click();
  await page.getByRole('button', exact('Filters')).waitFor();
  expect(errors).toEqual([]);
});
