import { expect, it } from 'vitest';
import { bash, done, exact, openRequestBoard } from '../support/request-board.ts';

it('allows the edits of a stage where Claude Code suggests it, and no other commands', async () => {
  const { page, errors, begin, send } = await openRequestBoard();
  const write = (name: string) => ({ tools: [{ name: 'Write', input: { file_path: name, content: 'one\n' } }] });
  const quiet = ['mkdir d', 'touch d/x', 'mv d/x d/y', 'cp d/y d/z', 'rm d/z'].map(bash);
  const id = await begin('Login form', [write('a.txt'), write('b.txt'), ...quiet, bash('npm pkg get name'), done]);
  const dialog = page.getByRole('dialog', { name: /^Login form/ });
  await dialog.getByText('New file, 1 line').waitFor();
  expect(await dialog.getByRole('list', { name: 'At stake' }).count()).toBe(0);
  await dialog.getByRole('button', { name: 'Allow edits …' }).click();
  await dialog.getByText('Other commands still ask.').waitFor();
  await dialog.getByRole('button', exact('Allow edits in this stage')).click();

  await dialog.getByText('npm pkg get name').first().waitFor();
  expect(await send('GET', `/api/sessions/${id}`)).toMatchObject({ session: { mode: 'acceptEdits' } });
  await dialog
    .getByRole('list', { name: 'At stake' })
    .getByText('Runs a script. Callboard cannot tell what it does.')
    .waitFor();
  const { decisions } = (await send('GET', '/api/decisions')) as { decisions: { stageId: string }[] };
  expect(decisions.filter(({ stageId }) => stageId === id)).toHaveLength(1); // nothing but the first was asked
  expect(errors).toEqual([]);
});

it('says what is at risk in a script, and shows the part that matters on its row', async () => {
  const { page, errors, begin, origin } = await openRequestBoard();
  const script = '# Look around\nls\necho "* * * * * x" | crontab -\nrm -rf dist';
  await begin('Login form', [bash(script), done]);
  const dialog = page.getByRole('dialog', { name: /^Login form/ });
  const risks = dialog.getByRole('list', { name: 'At stake' });
  await risks.getByText('Changes scheduled jobs (crontab).').waitFor();
  await risks.getByText('Deletes with all contents: dist.').waitFor();
  await page.goto(`${origin}/inbox`);
  await page.getByText('… echo "* * * * * x" | crontab - …').first().waitFor();
  expect(errors).toEqual([]);
});
