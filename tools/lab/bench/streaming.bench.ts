import { setTimeout as sleep } from 'node:timers/promises';
import { prompt } from '@callboard/scripted-model';
import type { Page } from 'playwright-core';
import { it, onTestFinished } from 'vitest';
import { openBrowser } from '../../../e2e/support/browser.ts';
import { install } from '../../../e2e/support/callboard.ts';
import { lengthenTranscript } from '../../../e2e/support/long-transcript.ts';
import { messageBox } from '../../../e2e/support/open-stage.ts';
import { apiOf } from '../../../e2e/support/scene.ts';
import { until } from '../../../test-support/until.ts';
import { frameFigures, recordFrames } from './frames.ts';
import { recordPlainList } from './plain-list.ts';
import { report } from './results.ts';

const ENTRIES = 2_600;
const WATCH_MS = 6_000;
/** How long the message is when the second measurement begins. */
const LONG_AFTER = 90;

/** A section of a message as a model writes it: prose, a list, a table, code. */
const section = (n: number) => `
## Section ${n}

The index reads **every file** once and keeps \`terms\` in a [trie](https://example.com/trie), so that a query of
${n} words costs no more than its result. It does so for three reasons, of which the second matters most.

- a list with an item about part ${n}
- another one, with \`code\` in it
  - and one below it

| part | lines | state |
| --- | ---: | --- |
| parser | ${n * 12} | done |
| index | ${n * 7} | open |

\`\`\`ts
export function part${n}(terms: readonly string[]): number {
  const seen = new Set(terms.map((term) => term.toLowerCase()));
  return seen.size * ${n};
}
\`\`\`
`;
const MESSAGE = `Part by part.\n${Array.from({ length: 240 }, (_, index) => section(index + 1)).join('')}\nThat was all.`;
const streamed = prompt({ steps: [{ text: MESSAGE, chunkChars: 60, chunkDelayMs: 12 }] }, 'Write a long report');

it('measures the frames of a page that follows a streamed message', async () => {
  const installation = await install();
  const before = await installation.start();
  const { page } = await openBrowser({ width: 1440, height: 900 });
  const api = apiOf(before.origin);
  const stages: string[] = [];
  for (const title of ['One', 'Two', 'Three', 'Four']) {
    const stageId = await api.stage(title, [{ text: 'Ready.' }]);
    stages.push(stageId);
    await api.start(stageId);
    const isIdle = async () => (await api.get(`/api/sessions/${stageId}`)).session.state === 'idle';
    await until(`${title} has finished its turn`, isIdle, { withinMs: 60_000, everyMs: 100 }); // four starts on a busy machine
  }
  const [long = ''] = stages;
  await before.stop();
  await installation.command('down');
  await lengthenTranscript(installation.dataDir, long, ENTRIES, []);
  const { loginLink, origin, stop } = await installation.start();
  onTestFinished(stop);
  await page.goto(loginLink);

  await page.goto('about:blank');
  const empty = await recordFrames('empty page', page, () => sleep(WATCH_MS / 2));
  await page.goto(`${origin}/stages/${long}`);
  const box = page.getByRole('region', { name: 'Transcript' });
  await box.locator('[data-index]').first().waitFor();
  await box.focus();
  const isAtStart = async () => {
    await page.keyboard.press('Home'); // loads all entries
    return (await page.getByText('Question 0', { exact: true }).count()) > 0;
  };
  await until('the first entry is shown', isAtStart, { everyMs: 500 });
  const scrolling = await recordFrames('transcript scrolled', page, () => scroll(page));
  await page.keyboard.press('End');
  for (const stageId of stages.slice(1))
    await apiOf(origin).post(`/api/sessions/${stageId}/message`, { message: streamed });
  await messageBox(page).fill(streamed);
  await messageBox(page).press('Enter');
  await page.getByText('Section 3', { exact: true }).waitFor({ timeout: 60_000 });
  const begun = await recordFrames('message begun', page, () => sleep(WATCH_MS));
  await page.getByText(`Section ${LONG_AFTER}`, { exact: true }).waitFor({ timeout: 180_000 });
  const late = await recordFrames('message late', page, () => sleep(WATCH_MS));
  await page.getByRole('link', { name: 'Board', exact: true }).click();
  const running = page.getByRole('region', { name: 'Running' });
  await until('all four stages write', async () => (await running.getByText('writing: ').count()) === 4);
  const board = await recordFrames('board of four streams', page, () => sleep(WATCH_MS));
  const plain = await recordPlainList(page, { height: 90, words: 40 }, turnWheel);
  report('streaming', [
    ...frameFigures('scrolling 2,600 entries', scrolling, empty, plain),
    ...frameFigures('following the beginning of a message, four streams', begun, empty),
    ...frameFigures('following it at 45 kB and more, four streams', late, empty),
    ...frameFigures('a board with four streams', board, empty),
  ]);
});

async function scroll(page: Page): Promise<void> {
  await page.getByRole('region', { name: 'Transcript' }).hover();
  await turnWheel(page);
}

async function turnWheel(page: Page): Promise<void> {
  for (let step = 0; step < 60; step += 1) {
    await page.mouse.wheel(0, 400);
    await page.waitForTimeout(30);
  }
}
