import { prompt } from '@callboard/scripted-model';
import type { Page } from 'playwright-core';
import { it, onTestFinished } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { install } from '../support/callboard.ts';
import { lengthenTranscript } from '../support/long-transcript.ts';
import { messageBox } from '../support/open-stage.ts';
import { apiOf } from '../support/scene.ts';
import { figures } from './measure.ts';

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
    await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
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
  const columns = [
    await measure(page, `${origin}/stages/${short}`, heapMb),
    await measure(page, `${origin}/stages/${long}`, heapMb),
  ];
  const [a, b] = columns;
  const rows = Object.keys(a ?? {}).map((name) => {
    const [of300, of50000] = [a?.[name] ?? Number.NaN, b?.[name] ?? Number.NaN];
    return [
      name,
      { '300 entries': of300.toFixed(1), '50,000 entries': of50000.toFixed(1), ratio: (of50000 / of300).toFixed(2) },
    ];
  });
  console.table(Object.fromEntries(rows));
});

/** Medians in milliseconds, the number of elements in the page, and the heap in megabytes. */
async function measure(page: Page, url: string, heapMb: () => Promise<number>): Promise<Record<string, number>> {
  const timed = async (act: () => Promise<void>, shown: () => Promise<void>) => {
    const begun = performance.now();
    await act();
    await shown();
    return performance.now() - begun;
  };
  const box = page.getByRole('region', { name: 'Transcript' });
  const atEnd = () => page.getByText(LAST).waitFor();
  const opened: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    opened.push(await timed(async () => void (await page.goto(url)), atEnd));
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
    'navigation -> last entry shown (ms)': figures(opened).medianMs,
    'elements in the page': elements,
    'heap when opened (MB)': heapAtOpen,
    'Home -> first entry shown, all loaded (ms)': toStart,
    'to the middle (ms)': figures(toMiddle).medianMs,
    'End -> last entry shown (ms)': figures(toEnd).medianMs,
    'heap with all loaded (MB)': heapOfAll,
    'message sent -> answer shown (ms)': answered,
  };
}
