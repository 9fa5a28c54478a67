import type { Page } from 'playwright-core';

/** Opens a page of Callboard. */
export async function openPage(page: Page, path: string): Promise<void> {
  await page.goto(new URL(path, page.url()).href);
  await page.locator('#main').waitFor({ state: 'attached' }); // out of reach while a dialog is open
}

/** Sets the requests aside, so that the page itself is seen. They stay so for all pictures that follow. */
export async function alone(page: Page): Promise<void> {
  await page
    .getByRole('dialog')
    .first()
    .waitFor({ timeout: 1_000 })
    .catch(() => undefined);
  await page.keyboard.press('Escape');
  await page.waitForTimeout(300);
}

/** Opens a page, and sets the requests over it aside. */
export async function openAlone(page: Page, path: string): Promise<void> {
  await openPage(page, path);
  await alone(page);
}
