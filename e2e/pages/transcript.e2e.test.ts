import type { NewTranscriptEntry } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { until } from '../../test-support/until.ts';
import { openBrowser } from '../support/browser.ts';
import { install } from '../support/callboard.ts';
import { lengthenTranscript } from '../support/long-transcript.ts';
import { messageBox } from '../support/open-stage.ts';
import { apiOf } from '../support/scene.ts';
import { turnTo } from '../support/turn-to.ts';

const ends: (() => void | Promise<void>)[] = [];
const atEnd = (end: () => void | Promise<void>) => void ends.unshift(end);
afterAll(async () => {
  for (const end of ends) await end();
});

const own = { parentToolUseId: null };
const said = (blockId: string, text: string): NewTranscriptEntry => ({ ...own, kind: 'text', blockId, text });
const steps = Array.from({ length: 320 }, (_, i) =>
  said(`step-${i}:0`, `Step number ${i + 1}, with ${'a few more words '.repeat((i + 1) % 40)}`),
);

let place: Awaited<ReturnType<typeof begin>>;
beforeAll(async () => {
  place = await begin();
});

/** A Callboard with stages whose transcripts are lengthened in its store: sessions that write as much would take longer than the tests. */
async function begin() {
  const { start, dataDir, command } = await install({}, atEnd, true); // it is about the page
  const before = await start();
  const api = apiOf(before.origin);
  const stage = async (title: string, text: string) => {
    const id = await api.stage(title, [{ text }]);
    await api.start(id);
    await until(`${title} is in review`, async () => (await api.get(`/api/stages/${id}`)).stage.column === 'review');
    return id;
  };
  const ids = {
    long: await stage('Long', 'Ready.'),
    other: await stage('Other', 'Hello.'),
    steps: await stage('Steps', 'I go through all of it.'),
  };
  await before.stop();
  await command('down');
  await lengthenTranscript(dataDir, ids.long, 2_500, [
    { ...own, kind: 'unknown', raw: { type: 'novelty', words: 'never seen' } },
    said('last:0', 'The very last words.'),
  ]);
  await lengthenTranscript(dataDir, ids.steps, 0, [...steps, said('end:0', 'The very end.')]);
  const { loginLink, origin, stop } = await start();
  atEnd(stop);
  const { page, context, errors } = await openBrowser({}, atEnd);
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor({ state: 'attached' });
  return { ids, origin, context, errors };
}

/** A page of a stage, in a window of this width. */
async function openPage(stageId: string, width: number) {
  const { context, origin, errors } = place;
  errors.length = 0;
  const page = await context.newPage();
  onTestFinished(() => page.close());
  await page.setViewportSize({ width, height: 800 });
  await page.goto(`${origin}/stages/${stageId}`);
  return { page, errors };
}

it('opens a long transcript at its end with the focus, finds what is not in the page, keeps the scroll position, and loads earlier entries', async () => {
  const { page, errors } = await openPage(place.ids.steps, 1280);
  await page.getByText('The very end.').waitFor();
  const transcript = page.getByRole('region', { name: 'Transcript' });
  const rows = () => transcript.locator('[data-index]').count();
  await expect.poll(rows).toBeLessThan(60);
  await expect.poll(() => page.getByRole('button', { name: 'Jump to end' }).count()).toBe(0);

  // By keys: to what is not in the page, to the message, and back.
  const hasFocus = (label: string) => () =>
    page.evaluate((name) => document.activeElement?.getAttribute('aria-label') === name, label);
  await expect.poll(hasFocus('Transcript')).toBe(true);
  const seventh = transcript.getByText('Step number 7, with');
  expect(await seventh.count()).toBe(0);
  await page.keyboard.press('/');
  await page.getByRole('textbox', { name: 'Find in transcript' }).fill('STEP NUMBER 7,');
  await page.getByText('1 of 1', { exact: true }).waitFor();
  await seventh.waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(hasFocus('Transcript')).toBe(true);
  await page.keyboard.press('m');
  await expect.poll(hasFocus('Message')).toBe(true);
  await page.keyboard.press('Escape');
  await expect.poll(hasFocus('Transcript')).toBe(true);
  await page.getByRole('button', { name: 'Jump to end' }).click();
  await page.getByText('The very end.').waitFor();

  // Up to the first entry, page by page.
  await transcript.hover();
  await expect
    .poll(
      async () => {
        await page.mouse.wheel(0, -3_000);
        return page.getByText('Step number 1, with').count();
      },
      { interval: 150 },
    )
    .toBe(1);
  await expect.poll(rows).toBeLessThan(60);

  // A new entry at the end moves nothing.
  await page.mouse.wheel(0, 1_500);
  let shown = '';
  let before = Number.NaN;
  const locationOf = async () => (await page.getByText(`${shown}, with`).boundingBox())?.y ?? Number.NaN;
  const hasSettled = async () => {
    const last = `${shown} at ${before}`;
    shown = await transcript.evaluate((box) => {
      const { top } = box.getBoundingClientRect();
      const inSight = [...box.querySelectorAll('p')].find((p) => p.getBoundingClientRect().top > top + 50);
      return inSight?.textContent?.split(',')[0] ?? '';
    });
    before = await locationOf();
    return `${shown} at ${before}` === last;
  };
  await expect.poll(hasSettled, { interval: 500 }).toBe(true);
  const length = () => transcript.evaluate((box) => box.scrollHeight);
  const lengthBefore = await length();
  await messageBox(page).fill(prompt({ steps: [{ text: 'One thing more.' }] }, 'And?'));
  await messageBox(page).press('Enter');
  await page.getByRole('button', { name: 'Finish', exact: true }).waitFor();
  await expect.poll(length).toBeGreaterThan(lengthBefore);
  await expect.poll(async () => Math.abs((await locationOf()) - before)).toBeLessThan(3);
  await page.getByRole('button', { name: 'Jump to end' }).click();
  await page.getByText('One thing more.').waitFor();
  expect(errors).toEqual([]);
});

it('jumps to the first and the last entry, shows unknown entries, and keeps the scroll position across tabs and stages', async () => {
  const { page, errors } = await openPage(place.ids.long, 1200); // one pane: the other tabs take the transcript's place
  await page.getByText('The very last words.').waitFor();
  await page.getByRole('button', { name: 'Something this version does not know' }).click();
  await page.getByText('"never seen"').waitFor();

  const box = page.getByRole('region', { name: 'Transcript' });
  const rows = () => box.locator('[data-index]').count();
  await box.focus();
  await page.keyboard.press('Home');
  await page.getByText('Question 0', { exact: true }).waitFor();
  await expect.poll(rows).toBeLessThan(60);
  await page.keyboard.press('End');
  await page.getByText('The very last words.').waitFor();

  // Somewhere in the middle, and away from it.
  await box.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
  const inSight = () =>
    box.evaluate((element) => {
      const { top } = element.getBoundingClientRect();
      const row = [...element.querySelectorAll('[data-index]')].find((one) => one.getBoundingClientRect().top >= top);
      return `${row?.textContent?.slice(0, 40)} at ${Math.round((row?.getBoundingClientRect().top ?? 0) - top)}`;
    });
  let at = '';
  const hasSettled = async () => {
    const last = at;
    at = await inSight();
    return at === last;
  };
  await expect.poll(hasSettled).toBe(true);
  expect(at).toMatch(/\w+ .*at \d+/);
  await page.getByRole('link', { name: /Changes/ }).click();
  await expect.poll(() => box.count()).toBe(0);
  await page.getByRole('link', { name: 'Transcript' }).click();
  await expect.poll(inSight).toBe(at);
  await page.getByRole('link', { name: 'Board', exact: true }).click();
  await page.getByRole('link', { name: 'Other' }).click();
  await page.getByText('Hello.').waitFor();
  await page.goBack();
  await page.goBack();
  await expect.poll(inSight).toBe(at);
  await page.getByRole('button', { name: 'Jump to start' }).click();
  await page.getByText('Question 0', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Jump to end' }).click();
  await page.getByText('The very last words.').waitFor();

  // The search knows what was stored while it was not there, and leads to a place that is not loaded.
  await turnTo(page, `/search?q=${encodeURIComponent('"question 7"')}`);
  await page
    .getByRole('region', { name: 'Results' })
    .getByRole('link', { name: /Question 7/ })
    .click();
  await page.getByText('Question 7', { exact: true }).waitFor();
  await expect.poll(() => box.locator('[data-in-hand]').textContent()).toContain('Question 7');
  await expect.poll(() => page.evaluate(() => CSS.highlights.get('found')?.size)).toBeGreaterThan(0);
  expect(errors).toEqual([]);
});
