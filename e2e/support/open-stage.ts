import { prompt } from '@callboard/scripted-model';
import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { AtEnd } from '../../test-support/temporary-folder.ts';
import { callApi } from './api.ts';
import { atFileEnd } from './at-file-end.ts';
import { openBrowser } from './browser.ts';
import { install } from './callboard.ts';

type Script = Parameters<typeof prompt>[0];

/** A Callboard with a logged-in browser. */
async function makePlace(atEnd: AtEnd, prepare: (repo: string) => Promise<void> = async () => undefined) {
  const installation = await install({}, atEnd);
  await prepare(installation.repo);
  const { loginLink, origin, stop } = await installation.start();
  atEnd(stop);
  const { page, errors, context } = await openBrowser({}, atEnd);
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor({ state: 'attached' });
  return { ...installation, origin, page, errors, context };
}

let shared: ReturnType<typeof makePlace> | undefined;

/** The Callboard that the tests of a file share, with a page for this test alone. */
async function sharedPlace() {
  if (shared === undefined) {
    atFileEnd(() => {
      shared = undefined;
    });
    shared = makePlace(atFileEnd);
  }
  const place = await shared;
  for (const page of place.context.pages()) await page.close();
  place.errors.length = 0;
  return { ...place, page: await place.context.newPage() };
}

/**
 * Opens a logged-in browser on the page of one stage with this script. The tests of a file share one Callboard, except
 * those that `prepare` its repository; `model` has the requests of this test alone.
 */
export async function openStage(
  script: Script,
  words: string,
  change: Record<string, unknown> = {},
  prepare?: (repo: string) => Promise<void>,
) {
  const place = await (prepare === undefined ? sharedPlace() : makePlace(onTestFinished, prepare));
  const { page, errors, context, origin, dataDir } = place;
  const before = place.model.requests.length;
  const model = {
    release: place.model.release,
    get requests() {
      return place.model.requests.slice(before);
    },
  };
  const fields = { projectId: 'shop', title: 'Search index', prompt: prompt(script, words), ...change };
  const response = await callApi(origin, 'POST', '/api/stages', fields);
  expect(response.ok).toBe(true);
  const { stage } = await response.json();
  const url = `${origin}/stages/${stage.id}`;
  // Its requests, and everything it occupies, are gone before the next test.
  if (prepare === undefined)
    onTestFinished(async () => {
      await callApi(origin, 'POST', `/api/stages/${stage.id}/stop`, {});
      const removed = await callApi(origin, 'DELETE', `/api/stages/${stage.id}`);
      expect(removed.ok).toBe(true);
    });
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
