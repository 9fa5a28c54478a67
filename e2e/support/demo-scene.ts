import { expect } from 'vitest';
import { openBrowser } from './browser.ts';

/** Follows the login link of a demo, sees its stages, and answers the first request. */
export async function seeDemo(loginLink: string): Promise<void> {
  const { page, errors } = await openBrowser();
  const loading = page.waitForResponse((response) => new URL(response.url()).pathname === '/api/board');
  await page.goto(loginLink);

  const dialog = page.getByRole('dialog', { name: /^Run the checks .*: Run this command\?/ });
  await dialog.getByText('sh scripts/check.sh').waitFor({ timeout: 60_000 }); // all sessions of the demo start at once
  await dialog.getByRole('button', { name: 'Allow', exact: true }).click();
  const column = (name: string) => page.getByRole('region', { name });
  await column('Review').getByText('Run the checks').waitFor();
  await column('Review').getByText('Tidy README').first().waitFor();
  await column('Backlog').getByText('Explain checks').waitFor();
  for (const title of ['Round the totals', 'Payment', 'Discount codes', 'Code review', 'Tax rates', 'Wish list'])
    await column('Ready').getByText(title).waitFor();
  const board = await (await loading).json();
  expect(board.stages.map(({ id }: { id: string }) => id)).toContain('STAGE-001-002-003');
  expect(errors).toEqual([]);
}
