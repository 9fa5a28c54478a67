import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../test-support/temporary-folder.ts';
import { openBrowser } from '../support/browser.ts';
import { install } from '../support/callboard.ts';
import { apiOf } from '../support/scene.ts';

const OLD = '2.1.232';
const LACKS = [
  'Tools that a hook allows go unnoticed.',
  'A message that begins with / runs as a command, and @path attaches files.',
];

/** A program that runs the real `claude` but reports an older release. @returns its path */
async function olderClaude(): Promise<string> {
  const path = join(await temporaryFolder(), 'claude');
  const change = `s/"claude_code_version":"[^"]*"/"claude_code_version":"${OLD}"/`;
  const script = `#!/bin/bash
if [ "$1" = --version ]; then echo '${OLD} (Claude Code)'; exit; fi
exec claude "$@" > >(exec sed -u '${change}')
`;
  await writeFile(path, script);
  await chmod(path, 0o755);
  return path;
}

it('shows on the card, on the page and in the details of a stage what its release of Claude Code lacks', async () => {
  const { start } = await install({ CALLBOARD_CLAUDE_PATH: await olderClaude() });
  const { loginLink, origin, stop } = await start();
  onTestFinished(stop);
  const { page, errors } = await openBrowser();
  const shoot = async (name: string) => {
    const shots = process.env.CALLBOARD_SHOTS;
    if (shots !== undefined) await page.screenshot({ path: join(shots, `gaps-${name}.png`) });
  };
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto(loginLink);
  const api = apiOf(origin);
  const stageId = await api.stage('Login form', [{ text: 'All finished.' }]);
  await api.start(stageId);
  const card = page.getByRole('region', { name: 'Review' }).getByRole('article', { name: 'Login form' });
  const words = `Claude Code ${OLD} lacks 2 features Callboard relies on`;
  const icon = card.getByRole('img', { name: `${words}: ${LACKS.join(' ')}`, exact: true });
  await icon.waitFor();
  expect(await icon.getAttribute('title')).toContain(words);
  await shoot('board-dark');

  await page.goto(`${origin}/stages/${stageId}`);
  const line = page.getByRole('region', { name: 'Claude Code' });
  const fold = line.getByRole('button', { name: words, exact: true });
  await fold.waitFor();
  const shown = () => line.getByRole('listitem').allTextContents();
  expect(await shown()).toEqual([]);
  await shoot('closed-dark');
  await fold.click();
  await expect.poll(shown).toEqual(LACKS);
  await line.getByText('claude update').waitFor();
  await shoot('open-dark');
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: 'light' });
  await shoot('open-phone-light');

  await page.getByRole('link', { name: 'Details' }).click();
  const details = page.getByRole('region', { name: 'Details' });
  await expect
    .poll(() => details.locator('dt', { hasText: 'Claude Code' }).locator('+ dd').allTextContents())
    .toEqual([OLD]);
  await shoot('details-phone-light');
  await page.goto(origin);
  await shoot('board-phone-light');
  expect(errors).toEqual([]);
});
