import type { Page } from 'playwright-core';

/**
 * Turns to another page within the open one, as the page's own links do: loading it anew costs four times as much. A test that
 * is about the load itself, or about what a load forgets, says `page.goto`. Resolves once the page before is gone; the page
 * before is only changed where both are of one kind, such as two stages.
 */
export async function turnTo(page: Page, path: string): Promise<void> {
  const kind = (url: URL) => url.pathname.split('/')[1];
  const isOfOneKind = kind(new URL(page.url())) === kind(new URL(path, page.url()));
  const before = await page.locator('#main > *').first().elementHandle();
  await page.evaluate((to) => {
    const state = { ...history.state, idx: (history.state?.idx ?? 0) + 1, key: String(performance.now()) };
    history.pushState(state, '', to);
    dispatchEvent(new PopStateEvent('popstate', { state }));
  }, path);
  if (!isOfOneKind) await page.waitForFunction((element) => !element?.isConnected, before);
  await before?.dispose();
}
