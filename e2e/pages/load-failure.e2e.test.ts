import { expect, it } from 'vitest';
import { openDesk } from '../support/desk.ts';

it('keeps the rest of the page when a page or a form fails to load, and shows it once it loads', async () => {
  const { page, api } = await openDesk();
  await api.stage('Audit log', [{ text: 'Done.' }]);
  let isAway = true;
  for (const path of ['**/assets/decision-log*', '**/assets/palette*', '**/api/health'])
    await page.route(path, (route) => (isAway ? route.abort() : route.continue()));
  const link = page.getByRole('link', { name: 'Decisions', exact: true });
  await link.click();
  await page.getByRole('alert').getByText('This page could not be loaded').waitFor();
  await page.getByRole('button', { name: 'Reload the page' }).click();
  await page.getByText('Callboard does not answer yet').waitFor();

  // The rest keeps working.
  await page.keyboard.press('Control+k');
  await page.getByText('The palette could not be loaded').waitFor();
  await page.getByRole('link', { name: 'Board', exact: true }).click();
  await page.getByRole('link', { name: 'Audit log' }).waitFor();

  isAway = false;
  await link.click();
  await page.getByRole('button', { name: 'Reload the page' }).click();
  await page.getByRole('region', { name: 'Decision log' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/decisions');
});
