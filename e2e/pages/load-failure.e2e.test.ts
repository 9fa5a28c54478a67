import { expect, it } from 'vitest';
import { openEmptyBoard } from '../support/test-board.ts';

it('keeps the rest of the page when a page or a form fails to load, and shows it once it loads, with or without a reload', async () => {
  const { page, api, origin } = await openEmptyBoard();
  await api.stage('Audit log', [{ text: 'Done.' }]);
  let isAway = true;
  for (const path of ['**/assets/{decision-log,inbox-page,palette,board-forms}*', '**/api/health'])
    await page.route(path, (route) => (isAway ? route.abort() : route.continue()));
  await page.goto(origin); // the board loads its forms before anybody opens one
  await page.getByText('The form could not be loaded').waitFor();
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

  // What failed to load is loaded when it is opened again.
  isAway = false;
  await page.evaluate(() => Object.assign(window, { isSame: true }));
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search or command' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'New stage' }).first().click();
  await page.getByRole('dialog', { name: 'New stage' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'New stage' }).waitFor({ state: 'hidden' });
  await link.click();
  await page.getByRole('region', { name: 'Decision log' }).waitFor();

  isAway = true;
  await page.getByRole('link', { name: /^Inbox/ }).click();
  await page.getByRole('alert').getByText('This page could not be loaded').waitFor();
  expect(await page.evaluate(() => 'isSame' in window)).toBe(true);
  isAway = false;
  await page.getByRole('button', { name: 'Reload the page' }).click();
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/inbox');
});
