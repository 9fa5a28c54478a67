import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { ALL } from '../../test-support/variants.ts';
import { axe, findings } from '../support/axe.ts';
import { openBrowser } from '../support/browser.ts';
import { install } from '../support/callboard.ts';
import { DOT } from '../support/open-stage.ts';
import { apiOf, makeScene, type Scene } from '../support/scene.ts';
import { leaveSandbox } from '../support/shared-instance.ts';
import { turnTo } from '../support/turn-to.ts';

type State = (page: Page, scene: Scene) => Promise<void>;

const dialog = (page: Page) => page.getByRole('dialog').first();

/** Whether this context's person has set the requests aside: the server keeps that for all pages that follow. */
const aside = new WeakSet<object>();

/** Sets the requests aside when they first come over a page. */
async function alone(page: Page): Promise<void> {
  if (aside.has(page.context())) return;
  await dialog(page).waitFor();
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'hidden' });
  aside.add(page.context());
}

/** Shows the board alone; what Escape closes is closed without loading the page again. */
async function board(page: Page): Promise<void> {
  const { pathname, search } = new URL(page.url());
  const isKnown = aside.has(page.context());
  const isThere = pathname === '/' && search === '' && isKnown;
  if (isThere) await page.keyboard.press('Escape');
  else if (isKnown) await turnTo(page, '/');
  const isClosed = async () => {
    await untilStill(page);
    return (await page.locator('[role="dialog"], [role="menu"]').count()) === 0;
  };
  if (!isKnown || !(await isClosed())) await page.goto(new URL('/', page.url()).href);
  await alone(page);
  await page.getByRole('heading', { name: 'Board' }).waitFor();
}

async function stage(page: Page, stageId: string): Promise<void> {
  await turnTo(page, `/stages/${stageId}`);
  await page
    .locator('header', { has: page.locator('h1') })
    .getByText(stageId, { exact: true })
    .waitFor();
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
}

const STATES: Record<string, State> = {
  'the overlay': async (page) => {
    await page.goto(new URL('/', page.url()).href);
    await dialog(page).waitFor();
  },
  'the board': board,
  'a card’s menu': async (page) => {
    await board(page);
    await page.getByRole('button', { name: 'More for Audit log' }).first().click();
    await page.getByRole('menuitem', { name: 'Edit' }).waitFor();
  },
  'folded columns and a filter': async (page) => {
    await board(page);
    await page.getByRole('button', { name: 'Fold Done' }).click();
    await page.getByRole('textbox', { name: 'Find stages' }).fill('nothing like it');
    await page.getByRole('button', { name: 'Unfold Done' }).click();
  },
  'the lanes': async (page, { review }) => {
    await apiOf(new URL(page.url()).origin).patch(`/api/stages/${review}`, { group: 'Checkout' });
    await turnTo(page, '/?view=lanes');
    await page
      .getByRole('heading', { name: /^Checkout/ })
      .getByRole('button')
      .waitFor();
  },
  'the graph': async (page) => {
    await turnTo(page, '/?view=graph');
    await page.getByRole('button', { name: 'Zoom to fit' }).waitFor();
    await page
      .getByRole('link', { name: /Admin pages/ })
      .first()
      .waitFor();
  },
  'the search': async (page) => {
    await turnTo(page, '/search?q=login');
    await page.getByRole('region', { name: 'Results' }).getByRole('link').first().waitFor();
  },
  'the new stage form': async (page) => {
    await board(page);
    await page.getByRole('button', { name: 'New stage' }).click();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('combobox', { name: 'Pipeline' }).selectOption('Custom phases');
    await page.getByRole('button', { name: 'Add to board' }).click();
    await page.getByText('The prompt is empty.').waitFor();
  },
  'the project': async (page) => {
    await board(page);
    await page.getByRole('button', { name: 'Projects' }).click();
    await page.getByRole('menuitem', { name: 'shop' }).click();
    await page.getByRole('textbox', { name: 'Name' }).waitFor();
    await page.getByRole('heading', { name: 'Always allowed' }).waitFor();
  },
  'the palette': async (page) => {
    await board(page);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or command' }).waitFor();
  },
  'the keys': async (page) => {
    await board(page);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  },
  'the account menu': async (page) => {
    await board(page);
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).waitFor();
  },
  'the inbox': async (page) => {
    await turnTo(page, '/inbox');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  },
  'a stage in the inbox': async (page, { failed }) => {
    await turnTo(page, `/inbox?stage=${failed}`);
    await page.getByRole('button', { name: 'Continue' }).waitFor();
  },
  'the board as a list': async (page) => {
    await turnTo(page, '/?view=list');
    await alone(page);
    await page.getByRole('table').waitFor();
  },
  'the decisions': async (page) => {
    await turnTo(page, '/decisions');
    await alone(page);
    await page.getByRole('region', { name: 'Decision log' }).getByRole('listitem').first().waitFor();
  },
  'all rules': async (page) => {
    const rule = 'Bash(npm run format)';
    await apiOf(new URL(page.url()).origin).post('/api/rules', { rule, scope: { projectId: 'shop' } });
    await turnTo(page, '/rules');
    await page.getByRole('region', { name: 'Always allowed' }).getByText(rule).first().waitFor();
  },
  'the numbers': async (page) => {
    await turnTo(page, '/numbers?waits=stage');
    await page.getByRole('button', { name: 'Waits by stage, as a table' }).click();
    await page.getByRole('region', { name: 'Time line' }).waitFor();
    await page.locator('.recharts-bar-rectangle').first().waitFor();
  },
  'a stage that is finished': (page, { review }) => stage(page, review),
  'files to complete with, and one attached': async (page, { review }) => {
    await stage(page, review);
    await page.locator('input[type="file"]').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: DOT });
    await page.getByRole('button', { name: 'Remove a.png' }).waitFor();
    const box = page.getByRole('textbox', { name: 'Message', exact: true });
    await box.fill('Compare it with @');
    await page.getByRole('listbox', { name: 'Files' }).getByRole('option').first().waitFor();
    await untilStill(page);
  },
  'commands to complete with': async (page) => {
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('/co');
    await page.getByRole('listbox', { name: 'Commands' }).getByRole('option').first().waitFor();
    await page.getByRole('button', { name: 'Remove a.png' }).click();
  },
  'a plan with a comment': async (page, { plan }) => {
    await stage(page, plan);
    await page
      .getByRole('button', { name: /^Comment on/ })
      .first()
      .click();
    await page.getByRole('textbox', { name: 'Comment' }).waitFor();
  },
  'what is always allowed': async (page, { approval }) => {
    await stage(page, approval);
    await page.getByRole('button', { name: 'Always allow …' }).click();
    await page.getByRole('button', { name: 'Always allow', exact: true }).waitFor();
  },
  'a stage that runs': (page, { running }) => stage(page, running),
  'a stage that asks': async (page, { approval }) => {
    await stage(page, approval);
    await page.getByRole('form').first().waitFor();
  },
};

/** What looks like another state but for its texts: only `npm run test:all` checks it. */
const VARIANTS = ['folded columns and a filter', 'commands to complete with', 'a stage that runs'];

/**
 * The pages that represent the others in the dark scheme, whose colours come from the same names; `npm run test:all`
 * checks all of them in both. In the dark one only the rules about colours run: the elements are those of the light one.
 */
const DARK = [
  'the graph',
  'the board',
  'the new stage form',
  'the decisions',
  'the numbers',
  'a stage that is finished',
  'a plan with a comment',
  'a stage that asks',
];

/**
 * What lies over a page that is checked as a whole elsewhere, or is a part of it: only this is checked, by its selector.
 * `npm run test:all` checks the page around it again.
 */
const LAYERS: Record<string, string> = {
  'a card’s menu': '[role="menu"]',
  'the new stage form': '[role="dialog"]',
  'the project': '[role="dialog"]',
  'the palette': '[role="dialog"]',
  'the keys': '[role="dialog"]',
  'the account menu': '[role="menu"]',
  'files to complete with, and one attached': 'section[aria-label="Write to Claude"]',
  'commands to complete with': 'section[aria-label="Write to Claude"]',
};

/** Waits until nothing on the page moves or fades, for ten frames in a row: until then the colours are not final. */
async function untilStill(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const isStill = () =>
      document
        .getAnimations()
        .filter(({ effect }) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) // those never end
        .every(({ playState }) => playState !== 'running');
    for (let still = 0; still < 10; still = isStill() ? still + 1 : 0) await new Promise(requestAnimationFrame);
  });
}

/** Interrupts a turn that has a message waiting behind it. */
async function holdQueue(page: Page, origin: string, stageId: string): Promise<void> {
  const api = apiOf(origin);
  await api.post(`/api/sessions/${stageId}/message`, { message: 'Then the tests' });
  await api.post(`/api/sessions/${stageId}/interrupt`);
  await stage(page, stageId);
  await page
    .getByRole('region', { name: 'Queued messages' })
    .getByText(/^Paused/)
    .waitFor();
}

it('violates no WCAG 2.2 AA rule that axe checks: every page in the light scheme, representative pages in the dark one', {
  timeout: 900_000,
}, async () => {
  const { start, model } = await install();
  const { loginLink, origin, stop } = await start();
  onTestFinished(stop);
  const { page, context, errors } = await openBrowser();
  await context.addInitScript(axe);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.goto(loginLink);
  await page.getByRole('heading', { name: 'Board' }).waitFor();
  const found = await findings(page, 'the empty board');
  await leaveSandbox(origin, 'shop');
  const scene = await makeScene(origin, model, ALL);
  const check = async (name: string) => {
    const isDark = DARK.includes(name) || ALL;
    const within = ALL ? undefined : LAYERS[name];
    for (const colorScheme of isDark ? (['light', 'dark'] as const) : (['light'] as const)) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await untilStill(page);
      const rules = colorScheme === 'light' ? 'all' : 'colours';
      found.push(...(await findings(page, `${name}, ${colorScheme}`, rules, within)));
    }
  };
  for (const [name, show] of Object.entries(STATES)) {
    if (VARIANTS.includes(name) && !ALL) continue;
    await show(page, scene);
    await check(name);
  }
  await holdQueue(page, origin, scene.running);
  await check('a queue that is held');
  expect(found).toEqual([]);
  expect(errors).toEqual([]);
});
