import { prompt } from '@callboard/scripted-model';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { callApi } from './api.ts';
import { openSharedInstance } from './shared-instance.ts';

type Script = Parameters<typeof prompt>[0];

/**
 * Opens a logged-in browser on the page of one stage with this script, at the Callboard that tests share.
 * `model` has the requests of this test alone.
 * @param prepare changes the repository before it becomes a project
 */
export async function openStage(
  script: Script,
  text: string,
  change: Record<string, unknown> = {},
  prepare?: (repo: string) => Promise<void>,
) {
  const { page, errors, context, origin, dataDir, model } = await openSharedInstance(prepare);
  const fields = { projectId: 'shop', title: 'Search index', prompt: prompt(script, text), ...change };
  const response = await callApi(origin, 'POST', '/api/stages', fields);
  expect(response.ok).toBe(true);
  const { stage } = await response.json();
  const url = `${origin}/stages/${stage.id}`;
  await page.goto(url);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  return { page, errors, context, model, origin, url, stage, dataDir };
}

export const messageBox = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
export const queuedRows = (page: Page) => page.getByRole('region', { name: 'Queued messages' }).getByRole('listitem');

/** The gate that keeps a turn running until the test opens it. */
export const gated = (gate: string) => ({ steps: [{ gate, text: 'All finished.' }] });

/** An image of one pixel. */
export const DOT = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
