import { prompt } from '@callboard/scripted-model';
import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { callApi } from './api.ts';
import { openBrowser } from './browser.ts';
import { install } from './callboard.ts';
import { run } from './processes.ts';

type Script = Parameters<typeof prompt>[0];

/** A browser that is logged in, before the page of one stage of this script. `prepare` may add to its repository. */
export async function openStage(
  script: Script,
  words: string,
  change: Record<string, unknown> = {},
  prepare: (repo: string) => Promise<void> = async () => undefined,
) {
  const { start, model, repo, dataDir } = await install();
  await prepare(repo);
  const { loginLink, origin, stop } = await start();
  onTestFinished(stop);
  const { page, errors, context } = await openBrowser();
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor({ state: 'attached' });
  const fields = { projectId: 'shop', title: 'Search index', prompt: prompt(script, words), ...change };
  const response = await callApi(origin, 'POST', '/api/stages', fields);
  expect(response.ok).toBe(true);
  const { stage } = await response.json();
  const url = `${origin}/stages/${stage.id}`;
  await page.goto(url);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  return { page, errors, context, model, origin, url, stage, dataDir };
}

export const messageBox = (page: Page) => page.getByRole('textbox', { name: 'Message' });
export const queuedRows = (page: Page) => page.getByRole('region', { name: 'Queued messages' }).getByRole('listitem');

/** The gate that keeps a turn running until the test lets it go. */
export const gated = (gate: string) => ({ steps: [{ gate, text: 'All finished.' }] });

/** Commits all that is in the folder. */
export async function commitAll(repo: string): Promise<void> {
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args], repo);
  await git('add', '.');
  await git('commit', '--quiet', '--no-gpg-sign', '-m', 'More');
}

/** An image of one pixel. */
export const DOT = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
