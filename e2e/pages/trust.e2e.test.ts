import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test-support/temporary-folder.ts';
import { openTestBoard } from '../support/test-board.ts';

const exact = (name: string) => ({ name, exact: true });
const git = (cwd: string, ...args: string[]) =>
  promisify(execFile)('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], { cwd });

const SETTINGS = {
  apiKeyHelper: './scripts/key.sh',
  env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:1', NODE_ENV: 'development' },
  hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'node .claude/check.js' }] }] },
  permissions: { allow: ['Bash(npm run *)'], defaultMode: 'acceptEdits' },
};

it('asks whether to trust an added repository, and says on the card what a session goes without', async () => {
  const desk = await openTestBoard();
  const { page, api, errors } = desk;
  const repo = join(await temporaryFolder(), 'storefront');
  await git(desk.repo, 'clone', '--quiet', desk.repo, repo);
  await mkdir(join(repo, '.claude', 'commands'), { recursive: true });
  await writeFile(join(repo, '.claude', 'settings.json'), JSON.stringify(SETTINGS));
  await writeFile(join(repo, '.claude', 'commands', 'deploy.md'), 'Deploy it.');
  await git(repo, 'add', '.');
  await git(repo, 'commit', '--quiet', '-m', 'Settings');

  await page.getByRole('button', exact('Projects')).click();
  await page.getByRole('menuitem', exact('Add project')).click();
  await page.getByRole('textbox', { name: 'Path' }).fill(repo);
  await page.getByRole('dialog').getByRole('button', exact('Add project')).click();
  const dialog = page.getByRole('dialog', { name: 'Trust storefront?' });
  for (const title of ['Hooks', 'Helpers', 'Environment', 'Rules', 'Modes'])
    await dialog.getByRole('region', exact(title)).waitFor();
  await dialog.getByText('ANTHROPIC_BASE_URL=http://127.0.0.1:1').waitFor();
  await page.keyboard.press('Escape');
  // The board shows it as well, until a person has looked and said that they do not trust it now.
  const notice = page.getByRole('button', exact('Review the settings of storefront'));
  await notice.click();
  await dialog.getByRole('button', exact('Not now')).click();
  await notice.waitFor({ state: 'hidden' });
  await page.reload();
  await page.getByRole('heading', { name: 'Backlog' }).waitFor();
  expect(await notice.count()).toBe(0);

  const stageId = await api.stage('Login form', [{ text: 'Done.' }], { projectId: 'storefront' });
  await api.start(stageId);
  const card = page.getByRole('article', exact('Login form'));
  await card.getByText('Without the repository’s settings').waitFor();
  await card.getByRole('button', exact('Review')).click();
  await dialog.getByRole('button', exact('Trust this repository')).click();
  await dialog.waitFor({ state: 'hidden' });
  expect((await api.get('/api/projects/storefront/trust')).trust.needed).toBe(false);

  await page.goto(`${desk.origin}/stages/${stageId}`);
  await page.getByText('/deploy').first().waitFor();
  await page.getByRole('button', exact('Review the settings')).click();
  await dialog.getByText('is trusted as it is').waitFor();
  expect(errors).toEqual([]);
});
