import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { named } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { itAll } from '../../test-support/it-all.ts';
import { callApi } from '../support/api.ts';
import { openStage } from '../support/open-stage.ts';

/** The page of a stage's changes, after its worktree was changed. */
async function openChanges(change: (folder: string) => Promise<void>) {
  const place = await openStage({ steps: [{ text: 'Ready.' }] }, 'Say when');
  const { page, stage, url } = place;
  await page.getByText('Ready.').waitFor();
  const reply = await callApi(new URL(url).origin, 'GET', `/api/stages/${stage.id}`);
  const folder: string = (await reply.json()).stage.worktree.path;
  await change(folder);
  await page.goto(`${url}?tab=changes`);
  const list = page.getByRole('region', { name: 'Changed files' });
  const tree = page.getByRole('navigation', { name: 'Files' });
  const current = () => tree.locator('[aria-current]').textContent();
  return { ...place, list, tree, current, folder };
}

it('shows 300 files smoothly: a tree, keys from file to file, and only what is in sight', async () => {
  const { page, errors, list, tree, current } = await openChanges(async (folder) => {
    for (let n = 0; n < 300; n += 1) {
      const inner = join(folder, 'src', 'deep', `part-${n % 10}`);
      await mkdir(inner, { recursive: true });
      await writeFile(join(inner, `file-${String(n).padStart(3, '0')}.ts`), `export const n = ${n};\n`.repeat(8));
    }
    const long = Array.from({ length: 20_000 }, (_, n) => `line ${n}`).join('\n');
    await writeFile(join(folder, 'long.txt'), long);
  });
  await page.getByText('301 files').waitFor();
  await page.getByText(/compared with main @ [0-9a-f]{7}, including uncommitted changes/).waitFor();
  // Folders that hold one folder only are one line.
  await tree.getByRole('treeitem', { name: 'src/deep' }).waitFor();
  await expect.poll(current).toContain('file-000.ts');
  await page.keyboard.press(']');
  await expect.poll(current).toContain('file-010.ts');
  await page.keyboard.press('j');
  await expect.poll(current).toContain('file-020.ts');
  await page.keyboard.press('[');
  await expect.poll(current).toContain('file-010.ts');
  // A list that moved without the reader, as when patches load, is still at the chosen file.
  await page.keyboard.press('j');
  await expect.poll(current).toContain('file-020.ts');
  await list.evaluate(async (box) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    box.scrollBy(0, 40);
    for (let drawn = 0; drawn < 3; drawn += 1) await frame(); // until the page has seen it
  });
  await page.keyboard.press('[');
  await expect.poll(current).toContain('file-010.ts');
  await page.keyboard.press('k');
  await expect.poll(current).toContain('file-000.ts');
  await list.getByText('export const n = 0;').first().waitFor();

  // The last one: far away, and too long to be open by itself.
  await tree.getByRole('tree').focus();
  await page.keyboard.press('End');
  await tree.getByRole('treeitem', { name: /long\.txt/ }).click();
  await expect.poll(current).toContain('long.txt');
  await expect.poll(() => list.getByRole('status').count()).toBe(0);
  await list.getByRole('button', { name: 'Show long.txt' }).click();
  await list.getByText('line 3', { exact: true }).waitFor();
  // A comment has a height of its own; what is below it stays in place, and the list stays a list of what is in sight.
  await list.getByRole('button', { name: 'Comment on line 4', exact: true }).last().click();
  await page.getByRole('textbox', { name: 'Comment on line 4' }).fill('One\n\nTwo\n\nThree');
  await page.keyboard.press('Control+Enter');
  await list.getByRole('article').getByText('Three').waitFor();
  await list.getByRole('article').click();
  await list.focus();
  await page.keyboard.press('End');
  await list.getByText('line 19999', { exact: true }).waitFor();
  await page.keyboard.press('p');
  await list.getByRole('article').getByText('Three').waitFor();
  expect(await page.locator('*').count()).toBeLessThan(8_000);
  expect(errors).toEqual([]);
});

itAll('shows every kind of change, side by side too, and remembers what was viewed', async () => {
  const { page, errors, list, tree } = await openChanges(async (folder) => {
    await writeFile(join(folder, 'README.md'), '# The shop\n');
    await writeFile(join(folder, 'image.bin'), Buffer.from(Array.from({ length: 3000 }, (_, n) => (n * 7) % 256)));
    await writeFile(join(folder, 'empty.txt'), '');
    await writeFile(join(folder, 'odd \u202e name.txt'), 'a\u200bb\n');
  });
  await list.getByText('A binary file: its content is not shown.').waitFor();
  await list.getByText('An empty file.').waitFor();
  await list.getByRole('note', { name: 'Hidden characters' }).first().waitFor();
  await list.locator('h2').filter({ hasText: 'README.md' }).getByText('modified').waitFor({ state: 'attached' });

  // Two sides of a file need more than a pane has: the border moves, and the transcript stays.
  const border = page.getByRole('separator', { name: 'Width of the transcript' });
  expect(await border.getAttribute('aria-valuenow')).toBe('56');
  await page.getByRole('button', { name: 'Side by side' }).click();
  await page.getByRole('button', { name: 'Inline' }).waitFor();
  expect(await border.getAttribute('aria-valuenow')).toBe('40');
  await page.getByText('Ready.').waitFor();
  await list.getByText('# The shop').waitFor();
  await page.getByRole('checkbox', { name: 'Viewed README.md' }).check();
  await list.getByText('# The shop').waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('button', { name: 'Inline' }).waitFor();
  await expect.poll(() => page.getByRole('checkbox', { name: 'Viewed README.md' }).isChecked()).toBe(true);
  await page.getByText('1 of 4 viewed').waitFor();
  await tree.getByRole('treeitem', { name: /README\.md/ }).waitFor();
  await page.getByRole('button', { name: 'Expand all' }).click();
  await list.getByText('# The shop').waitFor();
  await page.getByRole('button', { name: 'Collapse all' }).click();
  await list.getByText('# The shop').waitFor({ state: 'detached' });
  expect(errors).toEqual([]);
});

itAll(
  'comments on both sides, keeps drafts on every page, and sends them as one message that Claude answers',
  async () => {
    const { page, list, errors, url, context, folder, model } = await openChanges(async (folder) => {
      await writeFile(join(folder, 'README.md'), '# The shop\n');
      await writeFile(join(folder, 'a.ts'), 'one\ntwo\nthree\nfour\n');
    });
    const comments = list.getByRole('article');
    await list.getByRole('button', { name: 'Comment on line 2', exact: true }).click();
    await page.getByRole('textbox', { name: 'Comment on line 2' }).fill(named('mend', 'Why two?'));
    await page.keyboard.press('Control+Enter');
    await comments.getByText('Why two?').waitFor();
    // By keyboard, from the line in hand; a text that was only typed is a draft too.
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('c');
    await page.getByRole('textbox', { name: 'Comment on lines 3 to 4' }).fill('Too many');
    await page.getByRole('button', { name: 'Ask for changes (2 comments)' }).waitFor();
    await page.reload();
    await comments.getByText('Too many').waitFor();
    await list.getByRole('button', { name: 'Comment on line 1 of the former version' }).click();
    await page.getByRole('textbox', { name: 'Comment on line 1, before' }).fill('Keep the name');
    await page.getByRole('button', { name: 'Add comment' }).click();
    await expect.poll(() => comments.count()).toBe(3);

    const other = await context.newPage();
    await other.goto(`${url}?tab=changes`);
    const there = other.getByRole('region', { name: 'Changed files' }).getByRole('article');
    await expect.poll(() => there.count()).toBe(3);
    await comments.filter({ hasText: 'Keep the name' }).getByRole('button', { name: 'Edit the comment' }).click();
    await page.getByRole('textbox', { name: 'Comment on line 1, before' }).fill('Keep its name');
    await page.keyboard.press('Control+Enter');
    await there.getByText('Keep its name').waitFor();

    model.setScript('mend', { steps: [{ text: 'Mended.' }] });
    await other.getByRole('button', { name: 'Ask for changes (3 comments)' }).click();
    await page.getByText('Mended.').waitFor();
    await expect.poll(() => comments.getByText('Claude replied', { exact: true }).count()).toBe(3);
    const heard = JSON.stringify(model.requests.at(-1)?.messages);
    expect(heard).toContain('a.ts, lines 3 to 4:\\n```\\nthree\\nfour\\n```\\nToo many');
    expect(heard).toContain('README.md, line 1 (in the version before your changes):\\n```\\n# Shop\\n```');

    await writeFile(join(folder, 'a.ts'), 'zero\none\n2\nthree\nfour\n');
    await page.getByRole('button', { name: 'Refresh' }).click();
    await comments.filter({ hasText: 'Why two?' }).getByText('Answered', { exact: true }).waitFor();
    await comments.filter({ hasText: 'Too many' }).getByText('lines 4 to 5').waitFor();
    await page.getByRole('button', { name: /^3 comments/ }).click();
    await page
      .getByRole('region', { name: 'Comments' })
      .getByRole('button', { name: /Keep its name/ })
      .click();
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await expect.poll(focused).toContain('Keep its name');

    // The search leads to it, also into a file that is folded.
    await page.goto(new URL('/search?q=too+many&kind=comment', url).href);
    const found = page.getByRole('link', { name: /a\.ts:4\s*Too many/ });
    await found.waitFor();
    await page.goto(`${url}?tab=changes`);
    await page.getByRole('button', { name: 'Collapse all' }).click();
    await comments.first().waitFor({ state: 'detached' });
    await page.goBack();
    await found.click();
    await expect.poll(focused).toContain('Too many');
    expect(errors).toEqual([]);
  },
);
