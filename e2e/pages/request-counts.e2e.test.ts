import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { itAll } from '../../test-support/it-all.ts';
import { openTestBoard } from '../support/test-board.ts';

const command = (text: string) => ({ name: 'Bash', input: { command: text, description: 'Do it' } });
const done = { text: 'All finished.' };
const exact = (name: string) => ({ name, exact: true });
const wants = (title: string) => ({ name: `${title}: Run this command?` });

itAll(
  'counts the open requests of a stage on its card, and in the head of its page, where a click shows the first',
  async () => {
    const { page, origin, api, errors, folder } = await openTestBoard();
    const files = ['a.txt', 'b.txt', 'c.txt'].map((name) => join(folder, name));
    await Promise.all(files.map((file) => writeFile(file, 'text\n')));
    const tools = files.map((file_path) => ({ name: 'Read', input: { file_path } }));
    const stageId = await api.stage('Login form', [{ tools }, done]);
    await api.start(stageId);
    await page.getByRole('dialog', { name: /^Login form: Read/ }).waitFor();
    const card = page.locator('article', { hasText: 'Login form' });
    const counted = card.locator('[role="img"][aria-label="3 open requests"]');
    await expect.poll(() => counted.allTextContents()).toEqual(['3']);
    let asides = 0;
    page.on('response', (response) => {
      if (response.url().endsWith('/later')) asides += 1;
    });
    await page.keyboard.press('Escape');
    await card.getByRole('img', exact('3 open requests')).waitFor();
    await expect.poll(() => asides).toBe(3);

    // They stay set aside on every page. Where only one pane is, the details take the transcript's place.
    await page.setViewportSize({ width: 1200, height: 800 });
    await page.goto(`${origin}/stages/${stageId}?tab=details`);
    const signal = page.getByRole('button', exact('3 open requests of this stage'));
    expect(await signal.textContent()).toBe('3');
    await signal.click();
    await page.waitForURL(`${origin}/stages/${stageId}`);
    const form = page.getByRole('form', { name: /^Login form: Read/ }).first();
    await form.getByRole('button', exact('Allow')).click();
    const fewer = page.getByRole('button', exact('2 open requests of this stage'));
    await expect.poll(() => fewer.allTextContents()).toEqual(['2']);
    await page.goto(origin);
    await card.getByRole('img', exact('2 open requests')).waitFor();
    expect(errors).toEqual([]);
  },
);

it('opens a request over a dialog with C, and keeps the text in the dialog, also over a reload', async () => {
  const { page, api, errors } = await openTestBoard();
  await page.getByRole('button', exact('New stage')).click();
  const newStage = page.getByRole('dialog', exact('New stage'));
  const title = newStage.getByRole('textbox', { name: 'Title' });
  await title.fill('Sear');
  const stageId = await api.stage('Login form', [{ tools: [command('touch a.txt')] }, done]);
  await api.start(stageId);
  const card = page.getByRole('region', exact('Request'));
  await card.getByText('touch a.txt').waitFor();

  // In a field C is a letter.
  await title.press('c');
  expect(await title.inputValue()).toBe('Searc');
  const request = page.getByRole('dialog', wants('Login form'));
  expect(await request.count()).toBe(0);

  const closing = newStage.getByRole('button', exact('Close'));
  await closing.focus();
  await page.keyboard.press('c');
  await request.getByText('touch a.txt').waitFor();
  // Escape affects only the top layer; the focus returns to where it was.
  await page.keyboard.press('Escape');
  await request.waitFor({ state: 'detached' });
  expect(await title.inputValue()).toBe('Searc');
  await expect.poll(() => closing.evaluate((element) => element === document.activeElement)).toBe(true);

  await page.keyboard.press('c');
  const allow = request.getByRole('button', exact('Allow'));
  await expect.poll(() => allow.isEnabled()).toBe(true);
  await allow.click();
  await request.waitFor({ state: 'detached' });
  await newStage.waitFor();
  // Only then: what gets the focus back would take it from the field.
  await expect.poll(() => closing.evaluate((element) => element === document.activeElement)).toBe(true);
  expect(await title.inputValue()).toBe('Searc');
  await title.press('End');
  await page.keyboard.press('h');
  expect(await title.inputValue()).toBe('Search');
  await expect.poll(async () => (await api.get('/api/board')).pending).toEqual([]);

  // After a reload, the text is there again.
  await page.reload();
  await page.getByRole('button', exact('New stage')).first().click();
  await newStage.getByText('Draft restored').waitFor();
  expect(await title.inputValue()).toBe('Search');
  expect(errors).toEqual([]);
});
