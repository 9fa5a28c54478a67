import { prompt } from '@callboard/scripted-model';
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { itAll } from '../../test-support/it-all.ts';
import { callApi } from '../support/api.ts';
import { messageBox, openStage } from '../support/open-stage.ts';
import { apiOf } from '../support/scene.ts';

/** The transcript of a page, and where a person is in it. */
function transcriptOf(page: Page) {
  const transcript = page.getByRole('region', { name: 'Transcript' });
  const fromTop = async (where: Locator) =>
    ((await where.boundingBox())?.y ?? Number.NaN) - ((await transcript.boundingBox())?.y ?? Number.NaN);
  const top = () => transcript.evaluate((box) => Math.round(box.scrollTop));
  return {
    transcript,
    top,
    /** Where it stands once no scroll is under way. */
    restingTop: async () => {
      let at = Number.NaN;
      const rests = async () => {
        const before = at;
        at = await top();
        return at === before;
      };
      await expect.poll(rests, { interval: 150 }).toBe(true);
      return at;
    },
    length: () => transcript.evaluate((box) => box.scrollHeight),
    toEnd: () => transcript.evaluate((box) => Math.round(box.scrollHeight - box.scrollTop - box.clientHeight)),
    fromTop,
    isAtTop: async (where: Locator) => {
      const y = await fromTop(where);
      return y > 0 && y < 60;
    },
    /** Whether all of it is within the visible part. */
    isInSight: async (where: Locator) => {
      const [y, size, height] = [
        await fromTop(where),
        (await where.boundingBox())?.height ?? Number.NaN,
        await transcript.evaluate((box) => box.clientHeight),
      ];
      return y >= 0 && y + size <= height;
    },
    /** Turns the wheel over this place. */
    wheel: async (over: Locator, by: number) => {
      await over.hover();
      await page.mouse.wheel(0, by);
    },
  };
}

const AT_END = 2;
const MANY_LINES = 'no\nnot\nlike\nthis';

it('shows a form that does not fit from its top, and does not move the view of a person who looks elsewhere or opens something', async () => {
  const content = Array.from({ length: 300 }, (_, i) => `export const value${i} = ${i};`).join('\n');
  const options = [1, 2, 3, 4].map((n) => ({ label: `Way ${n}`, description: 'What comes of it. '.repeat(20) }));
  const questions = [1, 2, 3].map((n) => ({
    question: `Question ${n}?`,
    header: `Q${n}`,
    multiSelect: false,
    options,
  }));
  const steps = [
    { tools: [{ name: 'AskUserQuestion', input: { questions } }] },
    { tools: [{ name: 'Write', input: { file_path: 'values.ts', content } }] },
    { text: 'The very end.' },
  ];
  const { page, errors } = await openStage({ steps }, 'Ask me');
  const { restingTop, length, toEnd, fromTop, isAtTop, isInSight, wheel } = transcriptOf(page);
  const heading = page.getByRole('heading', { name: /3 questions/ });
  const decline = page.getByRole('button', { name: 'Decline' });
  const jumpToEnd = page.getByRole('button', { name: 'Jump to end' });
  const reason = page.getByRole('textbox', { name: 'Reason' });
  // What is asked scrolls within the form, so that its title and its buttons are in sight together.
  const isWhole = async () => (await isAtTop(heading)) && (await isInSight(decline));
  await expect.poll(isWhole).toBe(true);
  await page.reload();
  await expect.poll(isWhole).toBe(true);
  const first = await restingTop();
  await wheel(page.getByText('Question 1?'), 300);
  await expect.poll(() => isInSight(page.getByText('Question 2?'))).toBe(true);
  await reason.fill(MANY_LINES);
  await expect.poll(isWhole).toBe(true);
  expect(await restingTop()).toBe(first);

  // A person who scrolls elsewhere stays there, whatever they open.
  await wheel(heading, -200);
  await jumpToEnd.waitFor();
  const opener = page.getByRole('button', { name: /^Show all \(/ });
  await opener.scrollIntoViewIfNeeded();
  const [elsewhere, short] = [await restingTop(), await length()];
  await opener.click();
  await expect.poll(length).toBeGreaterThan(short + 100);
  expect(await restingTop()).toBe(elsewhere);
  await jumpToEnd.click();
  await expect.poll(toEnd).toBeLessThan(AT_END);
  await expect.poll(() => jumpToEnd.count()).toBe(0);
  await decline.click();

  const writing = page.getByRole('heading', { name: /^Write / });
  await writing.waitFor();
  await expect.poll(() => isAtTop(writing)).toBe(true);
  const line = page.getByText('export const value0 = 0;').last();
  const whole = page.getByRole('button', { name: /^Show \d+ more lines$/ });
  await whole.scrollIntoViewIfNeeded();
  const [before, lineBefore] = [await restingTop(), await fromTop(line)];
  await whole.click();
  await page.getByRole('form').getByRole('button', { name: 'Show less' }).waitFor();
  await page.getByText('export const value299 = 299;').last().waitFor();
  expect([await restingTop(), await fromTop(line)]).toEqual([before, lineBefore]);
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('The very end.').waitFor();
  await expect.poll(toEnd).toBeLessThan(AT_END);

  expect(errors).toEqual([]);
});

it('shows a form from its top in a window that is lower than it, and stays at its end for a person who scrolls there', async () => {
  const run = { name: 'Bash', input: { command: 'npm run deploy' } };
  const { page, errors, origin, stage } = await openStage(
    { steps: [{ tools: [run] }, { text: 'The very end.' }] },
    'Deploy',
  );
  const { transcript, restingTop, length, toEnd, isAtTop, isInSight, wheel } = transcriptOf(page);
  const heading = page.getByRole('heading', { name: 'Run this command?' });
  const deny = page.getByRole('button', { name: 'Deny', exact: true });
  const reason = page.getByRole('textbox', { name: 'Reason' });
  await heading.waitFor();
  await page.setViewportSize({ width: 1280, height: 400 });
  await page.reload();
  await expect.poll(() => isAtTop(heading)).toBe(true);
  expect(await isInSight(deny)).toBe(false);

  // At its end, and still there when the form grows.
  await page.getByRole('button', { name: 'Jump to end' }).click();
  await expect.poll(toEnd).toBeLessThan(AT_END);
  const short = await length();
  await reason.fill(MANY_LINES);
  await expect.poll(length).toBeGreaterThan(short);
  await expect.poll(toEnd).toBeLessThan(AT_END);

  // Elsewhere, and still there when it shrinks and grows by another device.
  await wheel(heading, -120);
  await expect.poll(toEnd).toBeGreaterThan(100);
  const [elsewhere, long] = [await restingTop(), await length()];
  const [{ requestId }] = (await apiOf(origin).get(`/api/sessions/${stage.id}/pending`)).pending;
  const writeElsewhere = async (text: string) => {
    const draft = { key: requestId, value: { reason: text }, writer: 'another tab' };
    const { ok } = await callApi(origin, 'POST', `/api/sessions/${stage.id}/drafts`, draft);
    expect(ok).toBe(true);
  };
  const saved = async () => JSON.stringify(await apiOf(origin).get(`/api/sessions/${stage.id}/drafts`));
  await expect.poll(saved).toContain('like'); // until then what this page has not sent would win
  await writeElsewhere('');
  await expect.poll(length).toBe(short);
  expect(await restingTop()).toBe(elsewhere);
  await writeElsewhere(MANY_LINES);
  await expect.poll(length).toBe(long);
  expect(await restingTop()).toBe(elsewhere);

  await transcript.focus();
  await page.keyboard.press('End');
  await expect.poll(toEnd).toBeLessThan(AT_END);
  await deny.click();
  await page.getByText('The very end.').waitFor();
  await expect.poll(toEnd).toBeLessThan(AT_END);
  expect(errors).toEqual([]);
});

itAll('changes mode, model and effort of an ended session for its next start', async () => {
  const { page, errors, model } = await openStage({ steps: [{ text: 'First.' }] }, 'Begin');
  await page.getByRole('button', { name: 'Finish', exact: true }).waitFor();
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'End session' }).click();
  await page.getByText('Applies when the session restarts').waitFor();
  for (const [name, value] of [
    ['Permission mode', 'acceptEdits'],
    ['Model', 'haiku'],
    ['Effort', 'high'],
  ] as const) {
    const choice = page.getByRole('combobox', { name });
    await choice.selectOption(value);
    await expect.poll(async () => [await choice.isEnabled(), await choice.inputValue()]).toEqual([true, value]);
  }
  const write = { name: 'Write', input: { file_path: 'made.txt', content: 'made\n' } };
  await messageBox(page).fill(prompt({ steps: [{ tools: [write] }, { text: 'Second.' }] }, 'Go on'));
  await messageBox(page).press('Enter');
  await page.getByText('Second.').waitFor(); // it needed no request
  expect(model.requests.at(-1)?.model).toContain('haiku');
  await expect.poll(() => page.getByRole('combobox', { name: 'Permission mode' }).inputValue()).toBe('acceptEdits');
  await expect.poll(() => page.getByRole('combobox', { name: 'Effort' }).inputValue()).toBe('high');
  await expect.poll(() => page.getByText('Applies when the session restarts').count()).toBe(0);
  expect(errors).toEqual([]);
});

itAll('changes the mode, shows the changes, and merges them or says why not', async () => {
  const tools = [{ name: 'Write', input: { file_path: 'made.ts', content: 'export const made = 1;\n' } }];
  const { page, errors, stage } = await openStage({ steps: [{ tools }, { text: 'Made it.' }] }, 'Make it', {
    permissionMode: 'acceptEdits',
  });
  await page.getByText('Made it.').waitFor();
  await page.getByRole('button', { name: 'Finish', exact: true }).waitFor();
  const mode = page.getByRole('combobox', { name: 'Permission mode' });
  await mode.selectOption('plan');
  await expect.poll(() => mode.isEnabled()).toBe(true);
  await expect.poll(() => mode.inputValue()).toBe('plan');
  await page.reload();
  await expect.poll(() => mode.inputValue()).toBe('plan');

  await page.getByRole('link', { name: /Changes/ }).click();
  const change = page.getByRole('region', { name: 'Changed files' });
  await change.getByText('export const made = 1;').waitFor();
  await page.getByText(/1 file.*\+1.*compared with main @/).waitFor();

  await page.getByRole('link', { name: 'Details' }).click();
  await page.getByText(`callboard/${stage.id}`, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Finish', exact: true }).click();
  const finish = page.getByRole('region', { name: 'Finish' });
  await finish
    .getByText(`Commit 1 file on callboard/${stage.id}, then merge it (1 commit, 1 file) into main.`)
    .waitFor();
  await finish.getByText('1 file with uncommitted changes (made.ts) would stay').waitFor();
  await finish.getByRole('textbox', { name: 'Commit message' }).fill('Make it');
  await finish.getByRole('button', { name: 'Commit and merge into main' }).click();
  await page
    .getByText(/^merged [0-9a-f]{7} into main$/)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Undo merge' }).click();
  await page.getByRole('button', { name: 'Finish', exact: true }).waitFor();
  expect(errors).toEqual([]);
});
