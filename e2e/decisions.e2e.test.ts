import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { axe, findings } from './support/axe.ts';
import { claudePids } from './support/processes.ts';
import { openOwnBoard } from './support/test-board.ts';

const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] });
const done = { text: 'All finished.' };
const exact = (name: string) => ({ name, exact: true });

const dialog = (page: Page, title: string) => page.getByRole('dialog', { name: `${title}: Run this command?` });

/** Allows the request of the only running stage, in a process that no longer reads and is killed. */
async function loseAnswer(page: Page, folder: string, title: string): Promise<void> {
  const form = dialog(page, title);
  await form.waitFor();
  const [pid] = await claudePids(folder);
  if (pid === undefined) throw new Error('no claude runs');
  process.kill(pid, 'SIGSTOP');
  await form.getByRole('button', exact('Allow')).click();
  await form.waitFor({ state: 'hidden' });
  process.kill(pid, 'SIGKILL');
  const card = page.getByRole('region', { name: 'Needs you' });
  await card.getByText('an answer may not have reached Claude').waitFor();
}

it('offers Retry and Dismiss for an answer whose process was killed before it confirmed', async () => {
  const { folder, origin, page, errors, context, api } = await openOwnBoard((_callboard, context) =>
    context.addInitScript(axe),
  );
  const stageId = await api.stage('Login form', [bash('echo one >> made.txt'), bash('echo one >> made.txt'), done]);
  await api.start(stageId);
  await loseAnswer(page, folder, 'Login form');
  await page.getByRole('link', { name: /^Inbox ?1$/ }).click();
  const article = page.getByRole('article').filter({ hasText: 'It is not known whether this answer took effect' });
  await article.getByText('Bash echo one >> made.txt').waitFor();
  await article.getByText(/ended (just now|\d+ s ago), before it was confirmed.*ended by SIGKILL/).waitFor();
  await expect.poll(() => page.title()).toBe('(1) Inbox · Callboard');

  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    found.push(...(await findings(page, `the inbox, ${colorScheme}`)));
  }

  // The other page has it as well, and presses second.
  const other = await context.newPage();
  await other.goto(`${origin}/stages/${stageId}`);
  await other.getByRole('article').getByRole('button', exact('Dismiss')).waitFor();
  found.push(...(await findings(other, 'the stage')));
  expect(found).toEqual([]);
  await other.route('**/dismiss', async (route) => {
    await article.getByRole('button', exact('Retry')).click();
    await article.waitFor({ state: 'hidden' });
    await route.continue();
  });
  await other.getByRole('article').getByRole('button', exact('Dismiss')).click();
  await other.getByText(/This answer was already sent to Claude again by/).waitFor();
  await other.getByRole('article').waitFor({ state: 'hidden' });
  await other.getByText(/Your process ended just after your call of the tool Bash/).waitFor();
  await other
    .getByText(/not known whether it took effect.*sent to Claude again by/)
    .first()
    .waitFor();

  // The call comes again, and Claude asks again.
  const form = page.getByRole('form', { name: 'Login form: Run this command?' });
  await form.getByText('echo one >> made.txt').waitFor();
  await form.getByRole('button', exact('Deny')).click();
  await page.getByText(/^Nothing is waiting for you/).waitFor();
  expect(errors.filter((error) => !error.includes('409'))).toEqual([]);
});

it('keeps decisions in a log that can be filtered and exported, and settles them from there', async () => {
  const { folder, origin, page, errors, api } = await openOwnBoard();
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', exact('Decisions')).click();
  await page.getByText('No decisions yet.').waitFor();

  const denied = await api.stage('Search index', [bash('touch two'), done]);
  await api.start(denied);
  await dialog(page, 'Search index').getByRole('textbox', { name: 'Reason' }).fill('Use the table');
  await dialog(page, 'Search index').getByRole('button', exact('Deny')).click();
  const rows = page.getByRole('region', { name: 'Decision log' }).getByRole('listitem');
  const deniedRow = rows.filter({ hasText: 'Denied by' });
  await deniedRow.getByText('Bash touch two').waitFor();
  await deniedRow.getByText('Use the table').waitFor();
  await deniedRow.getByText('confirmed by Claude').waitFor();
  await deniedRow.getByText(/^(just now|\d+ s ago)$/).waitFor();

  await page.getByRole('link', exact('Board')).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Search index').waitFor();
  await api.post(`/api/stages/${denied}/stop`);
  const lost = await api.stage('Login form', [bash('touch one'), done]);
  await api.start(lost);
  await loseAnswer(page, folder, 'Login form');
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await expect.poll(() => rows.count()).toBe(2);
  const lostRow = rows.filter({ hasText: 'Bash touch one' });
  await lostRow.getByRole('button', exact('Dismiss')).click();
  await lostRow.getByText(/not known whether it took effect.*; dismissed by/).waitFor();
  await expect.poll(() => lostRow.getByRole('button').count()).toBe(0);

  await page.getByRole('combobox', { name: 'Outcome' }).selectOption('Denied');
  await expect.poll(() => rows.count()).toBe(1);
  await expect.poll(() => new URL(page.url()).search).toBe('?outcome=denied');
  const download = page.waitForEvent('download');
  await page.getByRole('button', exact('Export JSON Lines')).click();
  const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ stageId: denied, reason: 'Use the table' }]);
  await page.getByRole('button', { name: 'Export CSV' }).waitFor();

  // The address alone is enough, and an address without results says so.
  await page.goto(`${origin}/decisions?stage=${lost}`);
  await lostRow.waitFor();
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByRole('textbox', { name: 'To' }).fill('2020-01-01');
  await page.getByText('No decision matches these filters.').waitFor();
  await page.getByRole('button', exact('Show all')).click();
  await expect.poll(() => rows.count()).toBe(2);
  await expect.poll(() => new URL(page.url()).search).toBe('');
  await lostRow.getByRole('link', exact('Login form')).click();
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
  expect(errors).toEqual([]);
});
