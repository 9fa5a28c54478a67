import { it } from 'vitest';
import { openOwnBoard } from '../support/test-board.ts';

const npmInstall = { tools: [{ name: 'Bash', input: { command: 'touch answered.txt' } }] };

it('kills Callboard from its own page, and shows the same process and the same request when it is back', async () => {
  const { page, api } = await openOwnBoard();
  const stageId = await api.stage('Login form', [npmInstall, { text: 'All finished.' }]);
  await api.start(stageId);
  const request = page.getByRole('dialog', { name: /^Login form:/ });
  await request.waitFor();
  await page.keyboard.press('Escape');
  await request.waitFor({ state: 'hidden' });

  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByRole('menuitem', { name: 'Pull the plug' }).click();
  const dialog = page.getByRole('dialog', { name: 'Pull the plug' });
  await dialog.getByRole('button', { name: 'Kill Callboard' }).click();
  await dialog.getByRole('heading', { name: /^Back after/ }).waitFor();
  await dialog.getByText(/^1 Claude process survived/).waitFor();
  await dialog.getByText(/^1 request still open/).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();

  await page
    .getByRole('region', { name: 'Needs you' })
    .getByRole('button', { name: /^Allow/ })
    .click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
});
