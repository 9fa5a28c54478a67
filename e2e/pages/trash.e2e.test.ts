import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { git } from '../../test-support/git.ts';
import { openDesk } from '../support/desk.ts';

const exact = (name: string) => ({ name, exact: true });

it('says what deleting a stage removes, keeps the rest in the trash, and restores it from there', async () => {
  const desk = await openDesk(async ({ repo }) => {
    await writeFile(join(repo, '.gitignore'), 'notes/\nnode_modules/\n');
    await git(repo, 'add', '.gitignore');
    await git(repo, 'commit', '--quiet', '-m', 'Ignore');
  });
  const { page, api, origin, folder, errors } = desk;
  const stageId = await api.stage('Login form', [{ text: 'All finished.' }]);
  await api.start(stageId);
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  const worktree = join(folder, 'data', 'worktrees', 'shop', stageId);
  const write = async (path: string, text: string) => {
    await mkdir(join(worktree, path, '..'), { recursive: true });
    await writeFile(join(worktree, path), text);
  };
  await write('notes/plan.md', 'the plan');
  await write('node_modules/left-pad/index.js', 'x'.repeat(2_000));

  await page.goto(`${origin}/stages/${stageId}`);
  await page.getByRole('button', exact('Complete')).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Complete/ })
    .click();
  await page.getByRole('button', exact('Reopen')).waitFor();
  await page.getByText('This stage is done; a message reopens it.').waitFor();
  await page.getByRole('button', exact('Reopen')).click();
  await page.getByRole('button', exact('Complete')).waitFor();
  await page.getByText(/^Reopened by /).waitFor();

  await page.getByRole('button', exact('More')).click();
  await page.getByRole('menuitem', exact('Delete')).click();
  const dialog = page.getByRole('dialog', exact('Delete Login form'));
  await dialog.getByRole('list', exact('Moved to the trash')).getByText('notes/plan.md').waitFor();
  await dialog.getByRole('list', exact('Dependencies and build results')).getByText('2.0 KB').waitFor();
  expect(await dialog.getByRole('checkbox').isChecked()).toBe(true);
  await dialog.getByRole('button', exact('Delete')).click();
  await page.getByText('1 item moved to the trash (8 B). 1 build folder deleted (2.0 KB).').waitFor();

  await page.getByRole('button', exact('Account')).click();
  await page.getByRole('menuitem', exact('Trash')).click();
  await page.getByRole('list', exact('Trash')).getByText('1 item, 8 B').click();
  await page.getByText('30 days left').waitFor();
  await page.getByRole('button', exact('Restore Login form')).click();
  const restore = page.getByRole('dialog', exact('Restore Login form'));
  await restore.getByRole('textbox', exact('Folder')).fill('not absolute');
  await restore.getByRole('button', exact('Restore')).click();
  await restore.getByText('is not an absolute path').waitFor();
  await restore.getByRole('textbox', exact('Folder')).fill(join(folder, 'back'));
  await restore.getByRole('button', exact('Restore')).click();
  await page.getByText('The trash is empty.').waitFor();
  await page.getByRole('status').getByText(join(folder, 'back')).waitFor();
  expect(await readFile(join(folder, 'back', 'notes', 'plan.md'), 'utf8')).toBe('the plan');
  expect(errors.filter((words) => !words.includes('400'))).toEqual([]);
});
