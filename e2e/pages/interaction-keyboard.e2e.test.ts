import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bash, done, exact, openRequestBoard, wants } from '../support/request-board.ts';
import { turnTo } from '../support/turn-to.ts';

it('ignores keys that were meant for another dialog or for a text field', async () => {
  const { page, errors, begin, send } = await openRequestBoard();
  const dialog = page.getByRole('dialog', wants('Login form'));
  const newStage = page.getByRole('dialog', exact('New stage'));
  const typed = (name: string) => page.getByRole('textbox', { name });
  const isFocused = (name: string) => typed(name).evaluate((element) => element === document.activeElement);
  const waiting = async () => (await send('GET', '/api/board')).pending as unknown[];

  // It waits until an open dialog is closed; the key that closes that dialog does not dismiss it.
  await page.getByRole('button', exact('New stage')).click();
  await expect.poll(() => isFocused('Prompt')).toBe(true);
  await begin('Login form', [bash('touch a.txt'), done]);
  await expect.poll(() => page.title()).toBe('(1) Callboard');
  const card = page.getByRole('region', exact('Request'));
  await card.getByText('touch a.txt').waitFor();
  expect(await dialog.count()).toBe(0);
  await page.keyboard.type('a bad idea');
  expect(await typed('Prompt').inputValue()).toBe('a bad idea');
  await page.keyboard.press('Escape');
  await newStage.waitFor({ state: 'detached' });
  await dialog.getByText('touch a.txt').waitFor();

  // The palette opens over it and gets the keys.
  await page.keyboard.press('Control+k');
  await page.keyboard.type('a');
  const palette = page.getByRole('combobox', { name: 'Search or command' });
  await expect.poll(() => palette.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.type('ad');
  await page.keyboard.press('Escape');
  await palette.waitFor({ state: 'detached' });
  await expect.poll(() => dialog.getByRole('button', exact('Allow')).isEnabled()).toBe(true);
  expect(await waiting()).toHaveLength(1);
  await dialog.getByRole('button', exact('Snooze')).click();

  // While a person writes, it stays in the corner until they turn to it; then the text has the focus again.
  await page.emulateMedia({ reducedMotion: 'reduce' }); // then it appears there at once
  const find = typed('Find stages');
  await find.fill('Please look at ');
  const footer = await begin('Footer', [bash('touch b.txt'), done], {
    pipeline: [{ name: 'Build', prompt: 'Build it.', gate: 'none' }],
  });
  const second = page.getByRole('dialog', wants('Footer'));
  await card.getByText('Footer').waitFor();
  await card.getByText(footer, { exact: true }).waitFor();
  expect(await second.count()).toBe(0);
  await page.keyboard.type('a bad idea');
  expect(await find.inputValue()).toBe('Please look at a bad idea');
  // Held down since before the request was drawn, A decides nothing however long it is held.
  await page.keyboard.down('a');
  await card.getByRole('button', exact('Look')).click();
  await second.getByText('1 new · 2 in the inbox').waitFor();
  await second.getByText('Build', { exact: true }).waitFor();
  const allow = second.getByRole('button', exact('Allow'));
  await page.keyboard.press('Enter');
  await expect.poll(() => allow.getAttribute('aria-keyshortcuts')).toBe('a');
  await page.keyboard.down('a');
  await page.keyboard.up('a');
  expect(await allow.isEnabled()).toBe(true);
  expect(await waiting()).toHaveLength(2);
  await page.keyboard.press('Escape');
  await second.waitFor({ state: 'detached' });
  await expect.poll(() => find.evaluate((element) => element === document.activeElement)).toBe(true);
  expect(await waiting()).toHaveLength(2);

  expect(errors).toEqual([]);
});

it('answers equal requests in the inbox together by one key, once each was looked at', async () => {
  const { page, errors, begin, dataDir } = await openRequestBoard();
  await turnTo(page, '/inbox');
  const ids: string[] = [];
  for (const title of ['Login form', 'Search index']) {
    ids.push(await begin(title, [bash('touch same.txt'), done]));
    await page.getByRole('link', { name: new RegExp(`^${title}`) }).waitFor();
  }
  await page.getByText('2 identical requests').waitFor();
  await page.keyboard.press('j');
  await page.getByRole('form', wants('Search index')).waitFor();
  await page.keyboard.press('k');
  await page.getByRole('form', wants('Login form')).waitFor();

  // All equal ones are picked and shown, and its keys work once each was looked at.
  await page.keyboard.press('Shift+X');
  await page.getByRole('heading', { name: '2 requests in 2 stages' }).waitFor();
  const allowAll = page.getByRole('button', { name: 'Allow all 2' });
  await page.getByText('All 2 looked at').waitFor();
  await expect.poll(() => allowAll.getAttribute('aria-keyshortcuts')).toBe('a');
  await page.keyboard.press('a');
  const report = page.getByRole('status').filter({ hasText: '2 requests allowed.' });
  await report.getByText('Login form: allowed').waitFor();
  await report.getByText('Search index: allowed').waitFor();
  for (const id of ids)
    await expect
      .poll(() => readFile(join(dataDir, 'worktrees', 'shop', id, 'same.txt'), 'utf8').catch(() => null))
      .toBe('');
  expect(errors).toEqual([]);
});
