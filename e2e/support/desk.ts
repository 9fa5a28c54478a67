import type { BrowserContext, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { openBrowser } from './browser.ts';
import { type Installation, install, type Running } from './callboard.ts';
import { apiOf } from './scene.ts';

/** Callboard with a page that is logged in, and its API. */
export interface Desk extends Installation, Pick<Running, 'origin'> {
  page: Page;
  context: BrowserContext;
  /** What the pages wrote to the console as an error, or threw. */
  errors: string[];
  api: ReturnType<typeof apiOf>;
}

/** @param before has things done before Callboard is started, or a script put into every page */
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
