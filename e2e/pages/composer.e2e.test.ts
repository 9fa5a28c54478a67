import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { commitAll } from '../../test-support/git.ts';
import { itAll } from '../../test-support/it-all.ts';
import { callApi } from '../support/api.ts';
import { DOT, gated, messageBox, openStage, queuedRows } from '../support/open-stage.ts';
import { apiOf } from '../support/scene.ts';
import { turnTo } from '../support/turn-to.ts';

const options = (page: Page, list: string) => page.getByRole('listbox', { name: list }).getByRole('option');
const marked = (page: Page, list: string) => options(page, list).and(page.locator('[aria-selected="true"]'));
const isIdle = (page: Page) => page.getByRole('button', { name: 'Finish', exact: true }).waitFor();
const attached = (page: Page) => page.getByRole('list', { name: 'Attached files' }).getByRole('listitem');

/** Sends messages one after another; all of them wait. */
async function queueUp(page: Page, ...texts: string[]): Promise<void> {
  for (const text of texts) {
    await messageBox(page).fill(text);
    await messageBox(page).press('Enter');
    await queuedRows(page).filter({ hasText: text }).waitFor();
    await expect.poll(() => messageBox(page).inputValue()).toBe('');
  }
}

/** Fires a paste or a drop with an image, as a browser does. */
async function give(target: Locator, event: 'paste' | 'drop', name: string): Promise<void> {
  await target.evaluate(
    (box, { event, name, base64 }) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], name, { type: 'image/png' }));
      const init = { bubbles: true, cancelable: true };
      box.dispatchEvent(
        event === 'paste'
          ? new ClipboardEvent('paste', { ...init, clipboardData: data })
          : new DragEvent('drop', { ...init, dataTransfer: data }),
      );
    },
    { event, name, base64: DOT.toString('base64') },
  );
}

it('keeps the message box free while notices are shown, also on a phone', async () => {
  const run = { name: 'Bash', input: { command: 'touch it-ran', description: 'Leave a mark' } };
  const { page, origin, stage, errors } = await openStage({ steps: [{ tools: [run] }, { text: 'Done.' }] }, 'Run it');
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  const asked = await (await callApi(origin, 'GET', `/api/sessions/${stage.id}/pending`)).json();
  const [{ requestId }] = asked.pending;
  await callApi(origin, 'POST', `/api/sessions/${stage.id}/approve`, { requestId, decision: 'allow' });
  const notice = page.getByRole('alert').filter({ hasText: 'Allowed elsewhere' });
  const overlaps = async () => {
    const box = await messageBox(page).boundingBox();
    const over = await notice.boundingBox();
    return box === null || over === null ? null : over.y + over.height > box.y && over.y < box.y + box.height;
  };
  await notice.waitFor();
  await expect.poll(overlaps).toBe(false);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(overlaps).toBe(false);
  expect(errors).toEqual([]);
});

itAll(
  'completes file paths after @, and the commands and models that Claude Code has, including those of the repository',
  async () => {
    const { page, errors, model } = await openStage({ steps: [{ text: 'Ready.' }] }, 'Say when', {}, async (repo) => {
      await mkdir(join(repo, 'src', 'pages'), { recursive: true });
      await writeFile(join(repo, 'src', 'login.ts'), 'THE LOGIN\n');
      await writeFile(join(repo, 'src', 'pages', 'login-form.tsx'), 'THE FORM\n');
      await writeFile(join(repo, 'a note.txt'), 'THE NOTE\n');
      await mkdir(join(repo, '.claude', 'commands'), { recursive: true });
      const greet = '---\ndescription: Greets someone\nargument-hint: <name>\n---\nSay hello to $ARGUMENTS.\n';
      await writeFile(join(repo, '.claude', 'commands', 'greet.md'), greet);
      await commitAll(repo);
    });
    await isIdle(page);
    await messageBox(page).pressSequentially('Compare @logi');
    await expect
      .poll(() => options(page, 'Files').allTextContents())
      .toEqual(['login.tssrc', 'login-form.tsxsrc/pages']);
    await expect.poll(() => messageBox(page).getAttribute('aria-activedescendant')).not.toBeNull();
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => marked(page, 'Files').textContent()).toContain('login-form');
    await page.keyboard.press('Tab');
    await expect.poll(() => messageBox(page).inputValue()).toBe('Compare @src/pages/login-form.tsx ');
    await messageBox(page).pressSequentially('with @note');
    await options(page, 'Files').filter({ hasText: 'a note.txt' }).click();
    await expect
      .poll(() => messageBox(page).inputValue())
      .toBe('Compare @src/pages/login-form.tsx with @"a note.txt" ');

    // In the middle of the text, closed by Escape, which does not affect the turn or the text.
    await messageBox(page).press('Home');
    await messageBox(page).pressSequentially('@log');
    await options(page, 'Files').first().waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => options(page, 'Files').count()).toBe(0);
    for (let i = 0; i < 4; i += 1) await page.keyboard.press('Backspace');
    await messageBox(page).pressSequentially('@zzz');
    await page.getByText('No matching files').waitFor();
    for (let i = 0; i < 4; i += 1) await page.keyboard.press('Backspace');
    await messageBox(page).press('Enter');
    await expect
      .poll(() => {
        const asked = JSON.stringify(model.requests.at(-1)?.messages ?? '');
        return [asked.includes('THE FORM'), asked.includes('THE NOTE'), asked.includes('THE LOGIN')];
      })
      .toEqual([true, true, false]);
    await isIdle(page);

    // The commands, with those of the repository.
    await messageBox(page).fill('/gre');
    await expect.poll(() => options(page, 'Commands').first().textContent()).toContain('/greet <name>Greets someone');
    await messageBox(page).press('Enter');
    await expect.poll(() => messageBox(page).inputValue()).toBe('/greet ');
    await messageBox(page).pressSequentially('Ada');
    await messageBox(page).press('Enter');
    await expect.poll(() => JSON.stringify(model.requests.at(-1)?.messages)).toContain('Say hello to Ada.');
    await isIdle(page);

    // A slash alone makes no command.
    await messageBox(page).fill('/etc/hosts is a file');
    expect(await page.getByRole('checkbox', { name: 'Run as a command' }).isChecked()).toBe(false);
    await messageBox(page).press('Enter');
    await expect.poll(() => JSON.stringify(model.requests.at(-1)?.messages)).toContain('/etc/hosts is a file');
    await isIdle(page);
    await isIdle(page);

    // The model and its effort, by Claude Code's names for them.
    const models = page.getByRole('combobox', { name: 'Model' });
    await expect.poll(() => models.locator('option').allTextContents()).toContain('Fable');
    await models.selectOption('haiku');
    await expect.poll(() => models.isEnabled()).toBe(true);
    const effort = page.getByRole('combobox', { name: 'Effort' });
    await effort.selectOption('high');
    await expect.poll(() => effort.isEnabled()).toBe(true);
    await messageBox(page).fill(prompt({ steps: [{ text: 'In short.' }] }, 'Say it'));
    await messageBox(page).press('Enter');
    await page.getByText('In short.').waitFor();
    expect(model.requests.at(-1)?.model).toContain('haiku');
    await expect.poll(() => models.inputValue()).toBe('haiku');
    await expect.poll(() => effort.inputValue()).toBe('high');

    // A new stage offers the same.
    await turnTo(page, '/');
    await page.getByRole('button', { name: 'New stage' }).first().click();
    await page.getByRole('combobox', { name: 'Model' }).selectOption('fable');
    await expect.poll(() => page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('fable');
    expect(errors).toEqual([]);
  },
);

it('keeps text and files over a reload, the same on all screens, until they are sent', async () => {
  const { page, errors, model, context, url, origin, stage } = await openStage({ steps: [{ text: 'Ready.' }] }, 'Go');
  await isIdle(page);
  await give(messageBox(page), 'paste', 'pasted.png');
  await attached(page).filter({ hasText: 'pasted.png' }).waitFor();
  await give(page.getByRole('region', { name: 'Write to Claude' }).locator('> div').last(), 'drop', 'dropped.png');
  await page.getByRole('button', { name: 'Remove dropped.png' }).waitFor();
  await messageBox(page).fill('half a thought');
  await page.reload();
  await expect.poll(() => messageBox(page).inputValue()).toBe('half a thought');
  await expect.poll(() => attached(page).count()).toBe(2);
  await expect.poll(() => attached(page).locator('img').count()).toBe(2);

  const other = await context.newPage();
  await other.goto(url);
  await expect.poll(() => attached(other).count()).toBe(2);
  await other.getByRole('button', { name: 'Remove pasted.png' }).click();
  await expect.poll(() => attached(page).allTextContents()).toEqual([expect.stringContaining('dropped.png')]);
  await expect.poll(() => messageBox(other).inputValue()).toBe('half a thought');
  await messageBox(other).fill('a whole thought');
  await expect.poll(() => messageBox(page).inputValue()).toBe('a whole thought');

  await page.getByLabel('Attach files').setInputFiles([
    { name: 'notes.ts', mimeType: 'video/mp2t', buffer: Buffer.from('const note = 1;') },
    { name: 'nothing.zip', mimeType: 'application/zip', buffer: Buffer.from([0, 1, 2]) },
  ]);
  await page.getByRole('alert').getByText('nothing.zip cannot be sent').waitFor();
  await expect
    .poll(() => attached(page).allTextContents())
    .toEqual([expect.stringContaining('70 B'), expect.stringContaining('15 B')]);
  await messageBox(page).press('Enter');
  await page.getByText('With dropped.png, notes.ts').waitFor();
  for (const one of [page, other]) {
    await expect.poll(() => attached(one).count()).toBe(0);
    await expect.poll(() => messageBox(one).inputValue()).toBe('');
  }
  await expect.poll(() => JSON.stringify(model.requests)).toContain('"image/png"');
  await expect.poll(async () => (await apiOf(origin).get(`/api/sessions/${stage.id}/drafts`)).drafts).toEqual([]);
  expect(errors).toEqual([]);
});

itAll('steers the running turn, and replaces all waiting messages with one', async () => {
  const ask = { name: 'Bash', input: { command: 'touch a.txt', description: 'Make it' } };
  const script = { steps: [{ tools: [ask] }, ...gated('end').steps] };
  const { page, errors, model } = await openStage(script, 'Wait for me');
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  await queueUp(page, 'one', 'two');
  await messageBox(page).fill('Use b.txt instead');
  await messageBox(page).press('Control+Enter');
  await page.getByRole('region', { name: 'Transcript' }).getByText('Use b.txt instead').waitFor();
  await expect.poll(() => queuedRows(page).count()).toBe(2);

  await messageBox(page).fill('three');
  await page.getByRole('button', { name: 'Other ways to send' }).click();
  await page.getByRole('menuitem', { name: /Replace all queued/ }).click();
  await expect.poll(() => queuedRows(page).allTextContents()).toEqual([expect.stringContaining('three')]);

  // Claude reads it at the next step of this very turn.
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await expect.poll(() => JSON.stringify(model.requests.at(-1)?.messages)).toContain('Use b.txt instead');
  model.release('end');
  await page.getByText('All finished.').waitFor();
  await expect.poll(() => JSON.stringify(model.requests.at(-1)?.messages)).toContain('three');
  expect(errors).toEqual([]);
});

itAll('keeps the replaced messages, including files, until they are sent after all or discarded', async () => {
  const { page, errors, model } = await openStage(gated('first'), 'Wait for me');
  await page.getByRole('button', { name: 'Interrupt' }).waitFor();
  const file = { name: 'the page.png', mimeType: 'image/png', buffer: DOT };
  await page.getByLabel('Attach files').setInputFiles(file);
  await page.getByRole('button', { name: 'Remove the page.png' }).waitFor();
  await queueUp(page, 'Make it look like this', 'And add tests');
  await messageBox(page).fill('Stop after that');
  await page.getByRole('button', { name: 'Other ways to send' }).click();
  await page.getByRole('menuitem', { name: 'Replace all queued' }).click();
  await expect.poll(() => queuedRows(page).allTextContents()).toEqual([expect.stringContaining('Stop after that')]);

  // They stay there, on all screens, and go out with no other message.
  const saved = page.getByRole('region', { name: 'Replaced messages' }).getByRole('listitem');
  await page.reload();
  await expect
    .poll(() => saved.allTextContents())
    .toEqual([expect.stringContaining('with 1 file: the page.png'), expect.stringContaining('And add tests')]);
  expect(await attached(page).count()).toBe(0);
  await saved.filter({ hasText: 'And add tests' }).getByRole('button', { name: 'Discard' }).click();
  await expect.poll(() => saved.count()).toBe(1);
  await saved.getByRole('button', { name: 'Queue it after all' }).click();
  await expect.poll(() => saved.count()).toBe(0);
  await queuedRows(page).filter({ hasText: 'Make it look like this' }).getByText('with 1 file').waitFor();
  model.release('first');
  await page.getByText('With the page.png').waitFor();
  await expect.poll(() => JSON.stringify(model.requests)).toContain('"image/png"');
  expect(errors).toEqual([]);
});

it('converts a picture that Claude does not take, and refuses one that is cut off', async () => {
  const { page, errors, model } = await openStage({ steps: [{ text: 'Ready.' }] }, 'Say when');
  await isIdle(page);
  const attach = page.getByLabel('Attach files');
  await attach.setInputFiles({ name: 'cut.png', mimeType: 'image/png', buffer: DOT.subarray(0, 40) });
  await page.getByRole('alert').getByText('cut.png is cut off').waitFor();
  expect(await attached(page).count()).toBe(0);
  // A BMP picture of one pixel, under another name.
  const bmp = Buffer.alloc(58);
  bmp.write('BM');
  for (const [at, value] of [
    [2, 58],
    [10, 54],
    [14, 40],
    [18, 1],
    [22, 1],
    [34, 4],
  ] as const)
    bmp.writeUInt32LE(value, at);
  bmp.writeUInt16LE(1, 26);
  bmp.writeUInt16LE(24, 28);
  await attach.setInputFiles({ name: 'page.png', mimeType: 'image/png', buffer: bmp });
  await page.getByText('page.png is a BMP picture: a PNG image made of it is attached.').waitFor();
  await messageBox(page).fill('Look');
  await messageBox(page).press('Enter');
  await expect.poll(() => JSON.stringify(model.requests)).toContain('"image/png"');
  expect(errors).toEqual([]);
});
