import type { Page } from 'playwright-core';

/** Chooses how requests present themselves, in the account's menu: of a Callboard that no other test uses, as it is kept for the person. */
export async function choosePresentation(page: Page, text: string): Promise<void> {
  await page.getByRole('button', { name: 'Account' }).click();
  const item = page.getByRole('menuitemradio', { name: text });
  await item.click();
  await page.locator('[role="menuitemradio"][aria-checked="true"]', { hasText: text }).waitFor();
  await page.keyboard.press('Escape');
  await item.waitFor({ state: 'detached' });
}
