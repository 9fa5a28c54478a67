import type { BrowserContext, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { openBrowser } from './browser.ts';
import { type Installation, install, type Running } from './callboard.ts';
import { apiOf } from './scene.ts';

/** Callboard with a logged-in page, and its API. */
export interface Desk extends Installation, Pick<Running, 'origin'> {
  page: Page;
  context: BrowserContext;
  /** Console errors and exceptions of the pages. */
  errors: string[];
  api: ReturnType<typeof apiOf>;
}

/** @param before prepares the installation before Callboard starts, or puts a script into every page */
export async function openDesk(
  before: (installation: Installation, context: BrowserContext) => Promise<unknown> = async () => undefined,
  options: Parameters<typeof openBrowser>[0] = {},
): Promise<Desk> {
  const installation = await install();
  const { page, errors, context } = await openBrowser(options);
  await before(installation, context);
  const { origin, loginLink, stop } = await installation.start();
  onTestFinished(stop);
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor();
  return { ...installation, origin, page, context, errors, api: apiOf(origin) };
}
