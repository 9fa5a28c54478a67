import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { axe, findings } from '../support/axe.ts';
import { openEmptyBoard } from '../support/test-board.ts';

const git = (repo: string, ...args: string[]) => promisify(execFile)('git', args, { cwd: repo });

it('shows new git settings above the board, and in full, and accepts an agreement', async () => {
  const { page, errors, api, repo, origin } = await openEmptyBoard();
  await page.addInitScript(axe);
  await page.emulateMedia({ reducedMotion: 'reduce' }); // otherwise axe would see the dialog half drawn
  await page.goto(origin);
  await page.getByRole('heading', { name: 'Board' }).waitFor();
  await git(repo, 'config', 'core.fsmonitor', '/tmp/<b>watch</b>\u202e');
  const stage = await api.stage('Search index', [{ text: 'All finished.' }]);
  await api.start(stage);
  const review = page.getByRole('button', { name: /^Review the git settings of/ });
  await review.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('core.fsmonitor').waitFor();
  await dialog.getByText('/tmp/<b>watch</b>U+202E').waitFor();
  await dialog.getByRole('note', { name: 'Hidden characters' }).waitFor();
  expect(await findings(page, 'git settings')).toEqual([]);
  await dialog.getByRole('button', { name: 'Agree' }).click();
  await dialog.getByText(/You have agreed to every git setting/).waitFor();
  await review.waitFor({ state: 'detached' });
  expect(errors).toEqual([]);
});
