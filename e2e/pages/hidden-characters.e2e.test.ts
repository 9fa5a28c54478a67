import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { commitAll } from '../../test-support/git.ts';
import { openStage } from '../support/open-stage.ts';
import { run } from '../support/processes.ts';
import { apiOf } from '../support/scene.ts';

/** Asserts that nothing on the page, including names of buttons and hints, has an invisible character. */
async function showsAll(page: Page): Promise<void> {
  const html = await page.content();
  const unseen = /(?![\t\n])\p{Cc}|\p{Cs}|[\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u;
  expect(unseen.exec(html)?.[0]).toBe(undefined);
}

it('shows hidden characters of a command, a file and a question as codes, and warns about them', async () => {
  const command = 'echo safe \u202e # txt.hs\u2066\u200b; echo hidden';
  const question = {
    question: 'Which\u202e one?',
    header: 'Pick\u200b',
    multiSelect: false,
    options: [
      { label: 'A\u00ad', description: 'first\u2067' },
      { label: 'B', description: 'हिन्दी में क्‍षेत्र, می‌خواهم, 👩‍👧' },
    ],
  };
  const content = 'const admin = "user\u202e \u2066// only admins\u2069 \u2066";\r\u001b[8mmore();\n';
  const steps = [
    { tools: [{ name: 'Bash', input: { command, description: 'Say\u202e hello' } }] },
    { tools: [{ name: 'Write', input: { file_path: 'no\u200btes.txt', content } }] },
    { tools: [{ name: 'AskUserQuestion', input: { questions: [question] } }] },
    { text: 'Done\u202e.' },
  ];
  const { page, errors } = await openStage({ steps }, 'Say hello');
  const note = page.getByRole('note', { name: 'Hidden characters' });
  await note.getByText(/Hidden characters: \d text direction marks, .*1 zero-width character/).waitFor();
  const form = page.getByRole('form');
  await expect.poll(() => form.locator('pre').textContent()).toBe('echo safe U+202E # txt.hsU+2066U+200B; echo hidden');
  await form.getByText('SayU+202E hello').waitFor();
  await showsAll(page);
  await form.getByRole('button', { name: 'Edit before allowing' }).click();
  await expect.poll(() => note.count()).toBe(2);
  await form.getByRole('button', { name: 'Discard changes' }).click();
  await form.getByRole('button', { name: 'Allow', exact: true }).click();

  await page.getByRole('form', { name: /no⟨U\+200B⟩tes\.txt/ }).waitFor();
  await form.getByText('const admin = "userU+202E').waitFor();
  await form.getByText('\\r', { exact: true }).waitFor();
  await note.getByText('1 carriage return, 1 control character').waitFor();
  await showsAll(page);
  await form.getByRole('button', { name: 'Allow', exact: true }).click();

  await form.getByText('WhichU+202E one?').waitFor();
  await form.getByText('हिन्दी में क्‍षेत्र, می‌خواهم, 👩‍👧').waitFor();
  await form.getByText('firstU+2067').waitFor();
  await note.getByText('1 soft hyphen').waitFor();
  await form.getByRole('radio', { name: 'B' }).check();
  await form.getByRole('button', { name: 'Submit' }).click();
  await page.getByText('DoneU+202E.').waitFor();
  expect(errors).toEqual([]);
});

it('shows the true change of each file, and merges only what was shown', async () => {
  const { page, errors, origin, stage } = await openStage({ steps: [{ text: 'Nothing yet.' }] }, 'Wait');
  await page.getByText('Nothing yet.').waitFor();
  const { get } = apiOf(origin);
  const { path } = (await get(`/api/stages/${stage.id}`)).stage.worktree;
  const commit = () => commitAll(path);
  await writeFile(join(path, '.gitattributes'), '* -diff\n');
  await writeFile(join(path, 'a.txt'), 'x\rdiff --git a/b.txt b/b.txt\n');
  await writeFile(join(path, 'b.txt'), 'good();\u202e evil();\n');
  await rm(join(path, 'README.md'));
  await symlink('/etc/hostname', join(path, 'README.md'));
  await commit();
  await page.getByRole('link', { name: /Changes/ }).click();
  const changes = page.getByRole('region', { name: 'Changes', exact: true });
  await changes.getByText('good();U+202E evil();').waitFor();
  await changes.getByText('x\\rdiff --git a/b.txt b/b.txt').waitFor();
  await changes.getByText('/etc/hostname').waitFor();
  await page.getByText('file → symbolic link').waitFor();
  await expect.poll(() => page.getByRole('note', { name: 'Hidden characters' }).count()).toBe(2);
  await changes.getByText('4 files').first().waitFor();
  await showsAll(page);

  await writeFile(join(path, 'b.txt'), 'worse();\n');
  await commit();
  await page.getByRole('link', { name: 'Transcript' }).click();
  const before = await run('git', ['rev-parse', 'main'], path);
  const finish = page.getByRole('region', { name: 'Finish' });
  await page.getByRole('button', { name: 'Finish', exact: true }).click();
  await changes.getByText('worse();').waitFor();
  expect(await run('git', ['rev-parse', 'main'], path)).toBe(before);
  const merge = finish.getByRole('button', { name: 'Merge into main' });
  await finish.getByText(`Merge callboard/${stage.id} (2 commits, 4 files) into main. No conflicts.`).waitFor();

  // It changes again while the form is open: what was not shown is not merged.
  await writeFile(join(path, 'b.txt'), 'worst();\n');
  await commit();
  await merge.click();
  await finish.getByText('The work has changed since you looked at it.').waitFor();
  expect(await merge.count()).toBe(0);
  expect(await run('git', ['rev-parse', 'main'], path)).toBe(before);
  await finish.getByRole('button', { name: 'Look at the changes' }).click();
  await changes.getByText('worst();').waitFor();
  await finish.getByText(`Merge callboard/${stage.id} (3 commits, 4 files) into main. No conflicts.`).waitFor();
  await merge.click();
  await page.getByText('Done', { exact: true }).first().waitFor();
  expect(await run('git', ['show', 'main:b.txt'], path)).toBe('worst();\n');
  const refused = `Failed to load resource: the server responded with a status of 409 (Conflict) (/api/stages/${stage.id}/complete)`;
  expect(errors).toEqual([refused]); // of the second commit
});
