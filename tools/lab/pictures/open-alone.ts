import type { BoardView } from '@callboard/contract';
import type { Page, Request } from 'playwright-core';
import { until } from '../../../test-support/until.ts';

/** What the server answered when a page was opened. */
const boards = new WeakMap<Page, BoardView>();

/** Opens a page of Callboard. */
export async function openPage(page: Page, path: string): Promise<void> {
  const board = page.waitForResponse((response) => response.ok() && response.url().endsWith('/api/board'));
  await page.goto(new URL(path, page.url()).href);
  boards.set(page, await (await board).json());
  await page.locator('#main').waitFor({ state: 'attached' }); // out of reach while a dialog is open
}

const setsAside = (request: Request): boolean => request.method() === 'PUT' && request.url().endsWith('/later');

/** Sets the requests aside, so that the page itself is seen. They stay so for all pictures that follow. */
export async function alone(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog').first();
  if (!isAsked(page)) return;
  await dialog.waitFor();
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

/** From this width on, a stage's page has its transcript beside the tab. */
const TWO_PANES = 1_280;

/** Whether a request comes over the page, which on a busy machine may take long. */
function isAsked(page: Page): boolean {
  const { pathname, searchParams } = new URL(page.url());
  const view = boards.get(page);
  if (view === undefined || pathname === '/inbox' || view.me.presentation !== 'overlay') return false;
  const keyOf = ({ stageId, requestId }: { stageId: string; requestId: string }) => `${stageId} ${requestId}`;
  const later = new Set(view.me.later.map(keyOf));
  // A stage's page has its own, unless a tab covers them.
  const isCovered = searchParams.has('tab') && (page.viewportSize()?.width ?? 0) < TWO_PANES;
  const isOwn = ({ stageId }: { stageId: string }) => !isCovered && pathname === `/stages/${stageId}`;
  return !view.pending.some(isOwn) && view.pending.some((request) => !later.has(keyOf(request)));
}

/** Opens a page, and sets the requests over it aside. */
export async function openAlone(page: Page, path: string): Promise<void> {
  await openPage(page, path);
  await alone(page);
}
