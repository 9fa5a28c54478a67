import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { claudePidOf } from './support/processes.ts';
import { apiOf } from './support/scene.ts';
import { openTestBoard, type TestBoard } from './support/test-board.ts';

const TEXTS = 'Continue where you left off.';
const fails = { error: { status: 403, type: 'permission_error', message: 'Not on Fridays' } };
const check = { text: 'First.', tools: [{ name: 'Read', input: { file_path: 'README.md' } }] };
const last = { text: 'All finished.' };

/** How often Claude was told to continue, according to the transcript. */
async function reported({ api }: TestBoard, stageId: string): Promise<number> {
  const { entries } = await api.get(`/api/sessions/${stageId}/transcript`);
  return entries.filter((entry: { kind: string; text?: string }) => entry.kind === 'user' && entry.text === TEXTS)
    .length;
}

/** What Claude has saved of what it was told. If it dies before that, there is no conversation to continue. */
async function saved({ home }: TestBoard): Promise<string> {
  const files = await Array.fromAsync(glob(join(home, '.claude/projects/*/*.jsonl')));
  const records = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  const lines = records.flatMap((record) => record.split('\n'));
  return lines.filter((line) => line.includes('"type":"user"')).join('\n');
}

const resume = (page: Page) => page.getByRole('button', { name: 'Continue', exact: true });
const hasFailed = (page: Page) => page.getByText('Last turn failed').waitFor();

it('continues a stage by one click after a failed turn, only once even for a double click or a lost reply', async () => {
  const desk = await openTestBoard();
  const { page, errors, origin, model } = desk;
  const api = apiOf(origin, model);
  const stageId = await api.stage('Nightly export', [fails]);
  await api.start(stageId);
  await page.goto(`${origin}/stages/${stageId}`);
  await hasFailed(page);
  await page.getByText(`Continue: tells Claude “${TEXTS}”`).waitFor();

  // The server has accepted it, and the reply is lost.
  let attempts = 0;
  await page.route('**/message', async (route) => {
    attempts += 1;
    if (attempts > 1) return route.fallback();
    await route.fetch();
    return route.abort();
  });
  model.setScript('nightly-export', { steps: [check, fails] });
  await resume(page).dblclick();
  await page.getByText('First.').waitFor();
  await hasFailed(page);
  await expect.poll(() => attempts).toBeGreaterThan(1);
  expect(await reported(desk, stageId)).toBe(1);

  // A later failure counts as a new one, and so does the message sent after it.
  model.setScript('nightly-export', { steps: [check, last] });
  await resume(page).dblclick();
  await page.getByText('All finished.').waitFor();
  await page.getByText('Review', { exact: true }).waitFor();
  await expect.poll(() => resume(page).count()).toBe(0);
  expect(await reported(desk, stageId)).toBe(2);
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(TEXTS);
  expect(errors.filter((error) => !error.includes('ERR_FAILED'))).toEqual([]);
});

it('continues a session whose process died, also from the menu of a card', async () => {
  const desk = await openTestBoard();
  const { page, errors, origin, folder, model } = desk;
  const api = apiOf(origin, model);
  const failed = await api.stage('Nightly export', [fails]);
  const killed = await api.stage('Search index', [{ text: 'Half of it.', gate: 'on' }]);
  for (const stageId of [failed, killed]) await api.start(stageId);
  await page.getByRole('region', { name: 'Needs you' }).getByText('the last turn failed').waitFor();
  model.setScript('nightly-export', { steps: [last] });
  await page.getByRole('button', { name: 'More for Nightly export' }).click();
  await page.getByRole('menuitem', { name: `Continue tells Claude “${TEXTS}”` }).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Nightly export').waitFor();
  expect(await reported(desk, failed)).toBe(1);

  await page.getByRole('region', { name: 'Running' }).getByText('Search index').waitFor();
  await expect.poll(() => saved(desk)).toContain('Search index');
  process.kill(await claudePidOf(folder, killed), 'SIGKILL');
  await page.goto(`${origin}/stages/${killed}`);
  await page.getByText('Interrupted', { exact: true }).first().waitFor();
  await page.getByText(`Continue: starts Claude’s process and tells it “${TEXTS}”`).waitFor();
  await resume(page).dblclick();
  await expect.poll(() => reported(desk, killed)).toBe(1);
  model.release('on');
  await page.getByText('Half of it.').first().waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(errors).toEqual([]);
});

it('releases waiting messages instead of adding one', async () => {
  const { page, api, origin } = await openTestBoard();
  const stageId = await api.stage('Nightly export', [{ text: 'First.', gate: 'first' }]);
  await api.start(stageId);
  await api.post(`/api/sessions/${stageId}/message`, { message: 'And then the tests' });
  await api.post(`/api/sessions/${stageId}/interrupt`);
  await page.goto(`${origin}/stages/${stageId}`);
  await page.getByRole('button', { name: 'Send queued', exact: true }).waitFor();
  await expect.poll(() => resume(page).count()).toBe(0);
  await page.getByRole('button', { name: 'Remove queued message' }).click();
  await resume(page).waitFor();
});
