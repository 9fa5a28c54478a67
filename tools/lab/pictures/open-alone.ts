import type { Page, Request } from 'playwright-core';
import { until } from '../../../test-support/until.ts';

/** Opens a page of Callboard. */
export async function openPage(page: Page, path: string): Promise<void> {
  await page.goto(new URL(path, page.url()).href);
  await page.locator('#main').waitFor({ state: 'attached' }); // out of reach while a dialog is open
}

const setsAside = (request: Request): boolean => request.method() === 'PUT' && request.url().endsWith('/later');

/** Sets the requests aside, so that the page itself is seen. They stay so for all pictures that follow. */
export async function alone(page: Page): Promise<void> {
  // What shows requests is loaded beside the page: on a busy machine long after it.
  await page.waitForFunction(() =>
    performance.getEntriesByType('resource').some(({ name }) => name.includes('/request-overlay-')),
  );
  const dialog = page.getByRole('dialog').first();
  await dialog.waitFor({ timeout: 1_000 }).catch(() => undefined);
  if (!(await dialog.isVisible())) return;
  // Who leaves the page before all of them are stored, is asked again on the next one.
  const open = new Set<Request>();
  let isSent = false;
  const sent = (request: Request): void => {
    if (!setsAside(request)) return;
    isSent = true;
    open.add(request);
  };
  const over = (request: Request): void => void open.delete(request);
  page.on('request', sent).on('requestfinished', over).on('requestfailed', over);
  await page.keyboard.press('Escape');
  await until('the requests are set aside', () => isSent && open.size === 0);
  page.off('request', sent).off('requestfinished', over).off('requestfailed', over);
  await dialog.waitFor({ state: 'hidden' });
}

/** Opens a page, and sets the requests over it aside. */
export async function openAlone(page: Page, path: string): Promise<void> {
  await openPage(page, path);
  await alone(page);
}
