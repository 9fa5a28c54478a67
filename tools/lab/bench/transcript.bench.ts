import { prompt } from '@callboard/scripted-model';
import type { Page } from 'playwright-core';
import { it, onTestFinished } from 'vitest';
import { openBrowser } from '../../../e2e/support/browser.ts';
import { install } from '../../../e2e/support/callboard.ts';
import { lengthenTranscript } from '../../../e2e/support/long-transcript.ts';
import { messageBox } from '../../../e2e/support/open-stage.ts';
import { apiOf } from '../../../e2e/support/scene.ts';
import { frameFigures, recordFrames } from './frames.ts';
import { figures } from './measure.ts';
import { recordPlainList } from './plain-list.ts';
import { type Figure, report } from './results.ts';

const SHORT = 300;
const LONG = 50_000;
const ROUNDS = 5;
const LAST = 'The very last words.';

it('measures a transcript of 50,000 entries beside one of 300', async () => {
  const installation = await install();
  const before = await installation.start();
  const { page, context } = await openBrowser();
  await page.goto(before.loginLink);
  const api = apiOf(before.origin);
  const [short, long] = [await api.stage('Short', [{ text: 'Ready.' }]), await api.stage('Long', [{ text: 'Ready.' }])];
  for (const stageId of [short, long]) {
    await api.start(stageId);
    await page.goto(`${before.origin}/stages/${stageId}`);
    await page.getByRole('button', { name: 'Finish', exact: true }).waitFor();
  }
  await page.goto('about:blank');
  await before.stop();
  await installation.command('down');
  const last = { kind: 'text' as const, parentToolUseId: null, blockId: 'last:0', text: LAST };
  await lengthenTranscript(installation.dataDir, short, SHORT, [last]);
  await lengthenTranscript(installation.dataDir, long, LONG, [last]);

  const { loginLink, origin, stop } = await installation.start();
  onTestFinished(stop);
  await page.goto(loginLink);
  const devtools = await context.newCDPSession(page);
  const heapMb = async () => {
    await devtools.send('HeapProfiler.collectGarbage');
    return (await devtools.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  const empty = await recordFrames('empty page', page, () => page.waitForTimeout(2_000));
  const a = await measure(page, { origin, stageId: short, title: 'Short', heapMb });
  const b = await measure(page, { origin, stageId: long, title: 'Long', heapMb });
  const goals: Record<string, number> = { [OPENED]: 300, [HEAP_OPENED]: 100, [HEAP_ALL]: 100 };
  const compared = Object.entries(b).map(([name, value]): Figure => {
    const unit = name.startsWith('heap') ? 'MB' : name.startsWith('elements') ? 'elements' : 'ms';
    const atMost = goals[name];
    const baseline = `300 entries ${(a[name] ?? Number.NaN).toFixed(1)}`;
    return { name, value, unit, baseline, ...(atMost !== undefined && { atMost }) };
  });
  const scrolling = await recordFrames('long transcript scrolled', page, () => scroll(page));
  const plain = await recordPlainList(page, { height: 90, words: 40 }, () => turnWheel(page, 400));
  report('transcript', [...compared, ...frameFigures('scrolling 50,000 entries', scrolling, empty, plain)]);
});

async function scroll(page: Page): Promise<void> {
  await page.getByRole('region', { name: 'Transcript' }).hover();
  await turnWheel(page, -400);
}

async function turnWheel(page: Page, by: number): Promise<void> {
  for (let step = 0; step < 60; step += 1) {
    await page.mouse.wheel(0, by);
    await page.waitForTimeout(30);
  }
}

const OPENED = 'a row of the board is clicked -> last entry drawn';
const HEAP_OPENED = 'heap when opened';
const HEAP_ALL = 'heap with all loaded';

interface Instance {
  origin: string;
  stageId: string;
  title: string;
  heapMb: () => Promise<number>;
}

/** Medians in milliseconds, the number of elements in the page, and the heap in megabytes. */
async function measure(page: Page, { origin, stageId, title, heapMb }: Instance): Promise<Record<string, number>> {
  const url = `${origin}/stages/${stageId}`;
  const timed = async (act: () => Promise<void>, shown: () => Promise<void>) => {
    const begun = performance.now();
    await act();
    await shown();
    return performance.now() - begun;
  };
  const box = page.getByRole('region', { name: 'Transcript' });
  const atEnd = () => page.getByText(LAST).waitFor();
  const navigated: number[] = [];
  const opened: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    navigated.push(await timed(async () => void (await page.goto(url)), atEnd));
  for (let round = 0; round < ROUNDS; round += 1) {
    await page.goto(origin);
    opened.push(await openFromBoard(page, title));
  }
  const elements = await page.locator('*').count();
  const heapAtOpen = await heapMb();

  await box.focus();
  const toStart = await timed(
    () => page.keyboard.press('Home'),
    () => page.getByText('Question 0', { exact: true }).waitFor(),
  );
  const halfway = () => box.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
  const rowInSight = () => box.locator('[data-index]').first().waitFor();
  const toMiddle: number[] = [];
  const toEnd: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    toMiddle.push(await timed(halfway, rowInSight));
    toEnd.push(await timed(() => page.keyboard.press('End'), atEnd));
  }
  const heapOfAll = await heapMb();
  await messageBox(page).fill(prompt({ steps: [{ text: 'A new answer.' }] }, 'And?'));
  const answered = await timed(
    () => messageBox(page).press('Enter'),
    () => page.getByText('A new answer.').waitFor(),
  );
  return {
    [OPENED]: figures(opened).medianMs,
    'navigation -> last entry drawn': figures(navigated).medianMs,
    'elements in the page': elements,
    [HEAP_OPENED]: heapAtOpen,
    'Home -> first entry shown, all loaded': toStart,
    'to the middle': figures(toMiddle).medianMs,
    'End -> last entry shown': figures(toEnd).medianMs,
    [HEAP_ALL]: heapOfAll,
    'message sent -> answer shown': answered,
  };
}

/** Clicks the stage's row and measures, in the page, until its last entry was drawn. */
async function openFromBoard(page: Page, title: string): Promise<number> {
  await page.getByRole('link', { name: title, exact: true }).waitFor();
  // A person looks before they click; meanwhile the board loads what a click opens.
  const isLoaded = () => performance.getEntriesByType('resource').some(({ name }) => name.includes('/markdown-view'));
  await page.waitForFunction(isLoaded);
  await page.waitForTimeout(500);
  return page.evaluate(
    ([title, last]) =>
      new Promise<number>((resolve) => {
        const link = [...document.querySelectorAll<HTMLElement>('[data-card]')].find((a) => a.textContent === title);
        const begun = performance.now();
        link?.click();
        const check = () => {
          const rows = document.querySelectorAll('[aria-label="Transcript"] [data-index]');
          if (![...rows].some((row) => row.textContent?.includes(last))) return void requestAnimationFrame(check);
          requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun))); // after the paint
        };
        check();
      }),
    [title, LAST] as const,
  );
}
