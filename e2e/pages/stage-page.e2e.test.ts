import { prompt } from '@callboard/scripted-model';
import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { messageBox, openStage } from '../support/open-stage.ts';

it('shows a form that does not fit from its top, and does not move the view of a person who looks elsewhere or opens something', async () => {
  const content = Array.from({ length: 300 }, (_, i) => `export const value${i} = ${i};`).join('\n');
  const options = [1, 2, 3, 4].map((n) => ({ label: `Way ${n}`, description: 'What comes of it. '.repeat(20) }));
  const questions = [1, 2, 3].map((n) => ({
    question: `Question ${n}?`,
    header: `Q${n}`,
    multiSelect: false,
    options,
  }));
  const steps = [
    { tools: [{ name: 'AskUserQuestion', input: { questions } }] },
    { tools: [{ name: 'Write', input: { file_path: 'values.ts', content } }] },
    { text: 'The very end.' },
  ];
  const { page, errors, origin } = await openStage({ steps }, 'Ask me');
  const transcript = page.getByRole('region', { name: 'Transcript' });
  const top = () => transcript.evaluate((box) => Math.round(box.scrollTop));
  const fromTop = async (where: Locator) =>
    ((await where.boundingBox())?.y ?? Number.NaN) - ((await transcript.boundingBox())?.y ?? Number.NaN);
  const heading = page.getByRole('heading', { name: /3 questions/ });
  const isAtTop = async (where: Locator) => {
    const y = await fromTop(where);
    return y > 0 && y < 60;
  };
  await expect.poll(() => isAtTop(heading)).toBe(true);
  await page.reload();
  await expect.poll(() => isAtTop(heading)).toBe(true);

  // A person who scrolls to the end stays there, even when the form grows.
  await page.getByRole('button', { name: 'Jump to end' }).click();
  const isAtEnd = () => transcript.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 48);
  await expect.poll(isAtEnd).toBe(true);
  await page.getByRole('textbox', { name: /Reason/ }).fill('no\nnot\nlike\nthis');
  await expect.poll(isAtEnd).toBe(true);
  await page.getByRole('button', { name: 'Decline' }).click();

  const writing = page.getByRole('heading', { name: /^Write / });
  await writing.waitFor();
  await expect.poll(() => fromTop(writing)).toBeGreaterThan(0);
  const whole = page.getByRole('button', { name: /^Show \d+ more lines$/ });
  await whole.scrollIntoViewIfNeeded();
  const before = await top();
  await whole.click();
  await page.getByRole('button', { name: 'Show less' }).waitFor();
  await page.getByRole('button', { name: 'Jump to end' }).waitFor();
  expect(await top()).toBe(before);
  await page.getByRole('button', { name: 'Show less' }).click();
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('The very end.').waitFor();
  await expect.poll(isAtEnd).toBe(true);

  await page.goto(`${origin}/stages/STAGE-99`);
  await page.getByRole('heading', { name: 'There is no stage STAGE-99' }).waitFor();
  await expect.poll(() => page.title()).toBe('Not found · Callboard');
  expect(errors).toEqual([]);
});

it('sends files, keeps the draft over a reload, and runs a command only on request', async () => {
  const { page, errors, model, url, context } = await openStage({ steps: [{ text: 'Ready.' }] }, 'Say when');
  await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
  await messageBox(page).fill('half a thought');
  await page.reload();
  await expect.poll(() => messageBox(page).inputValue()).toBe('half a thought');

  // Another device has the same draft.
  const other = await context.newPage();
  await other.goto(url);
  await expect.poll(() => messageBox(other).inputValue()).toBe('half a thought');
  await messageBox(other).fill('a whole thought');
  await expect.poll(() => messageBox(page).inputValue()).toBe('a whole thought');
  await other.close();

  const image = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  await page.getByLabel('Attach files').setInputFiles([
    { name: 'dot.png', mimeType: 'image/png', buffer: image },
    { name: 'notes.ts', mimeType: 'video/mp2t', buffer: Buffer.from('const note = 1;') },
    { name: 'nothing.zip', mimeType: 'application/zip', buffer: Buffer.from([0, 1, 2]) },
  ]);
  await page.getByRole('alert').getByText('nothing.zip cannot be sent').waitFor();
  const files = page.getByRole('list', { name: 'Attached files' }).getByRole('listitem');
  await expect
    .poll(() => files.allTextContents())
    .toEqual([expect.stringContaining('70 B'), expect.stringContaining('15 B')]);
  await messageBox(page).press('Enter');
  await page.getByText('With dot.png, notes.ts').waitFor();
  await expect.poll(() => files.count()).toBe(0);
  await expect.poll(() => JSON.stringify(model.requests.at(-1)?.messages)).toContain('"image/png"');
  await page.reload();
  await page.getByText('With dot.png, notes.ts').waitFor();
  await expect.poll(() => messageBox(page).inputValue()).toBe('');

  // A slash alone makes no command.
  await messageBox(page).fill('/cont');
  await page.getByRole('option', { name: /\/context/ }).waitFor();
  await messageBox(page).press('Enter');
  await expect.poll(() => messageBox(page).inputValue()).toBe('/context ');
  await expect.poll(() => page.getByRole('checkbox', { name: 'Run as a command' }).isChecked()).toBe(true);
  await messageBox(page).fill('/etc/hosts is a file');
  await page.getByRole('checkbox', { name: 'Run as a command' }).uncheck();
  await messageBox(page).press('Enter');
  await expect.poll(() => JSON.stringify(model.requests.at(-1)?.messages)).toContain('/etc/hosts is a file');
  expect(errors).toEqual([]);
});

it('changes mode, model and effort of an ended session for its next start', async () => {
  const { page, errors, model } = await openStage({ steps: [{ text: 'First.' }] }, 'Begin');
  await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'End session' }).click();
  await page.getByText('From the next start').waitFor();
  for (const [name, value] of [
    ['Permission mode', 'acceptEdits'],
    ['Model', 'haiku'],
    ['Effort', 'high'],
  ] as const) {
    const choice = page.getByRole('combobox', { name });
    await choice.selectOption(value);
    await expect.poll(async () => [await choice.isEnabled(), await choice.inputValue()]).toEqual([true, value]);
  }
  const write = { name: 'Write', input: { file_path: 'made.txt', content: 'made\n' } };
  await messageBox(page).fill(prompt({ steps: [{ tools: [write] }, { text: 'Second.' }] }, 'Go on'));
  await messageBox(page).press('Enter');
  await page.getByText('Second.').waitFor(); // it needed no request
  expect(model.requests.at(-1)?.model).toContain('haiku');
  await expect.poll(() => page.getByRole('combobox', { name: 'Permission mode' }).inputValue()).toBe('acceptEdits');
  await expect.poll(() => page.getByRole('combobox', { name: 'Effort' }).inputValue()).toBe('high');
  await expect.poll(() => page.getByText('From the next start').count()).toBe(0);
  expect(errors).toEqual([]);
});

it('changes the mode, shows the changes, and merges them or says why not', async () => {
  const tools = [{ name: 'Write', input: { file_path: 'made.ts', content: 'export const made = 1;\n' } }];
  const { page, errors, stage } = await openStage({ steps: [{ tools }, { text: 'Made it.' }] }, 'Make it', {
    permissionMode: 'acceptEdits',
  });
  await page.getByText('Made it.').waitFor();
  await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
  const mode = page.getByRole('combobox', { name: 'Permission mode' });
  await mode.selectOption('plan');
  await expect.poll(() => mode.isEnabled()).toBe(true);
  await expect.poll(() => mode.inputValue()).toBe('plan');
  await page.reload();
  await expect.poll(() => mode.inputValue()).toBe('plan');

  await page.getByRole('link', { name: /Changes/ }).click();
  const change = page.getByRole('region', { name: 'Changed files' });
  await change.getByText('export const made = 1;').waitFor();
  await page.getByText(/1 file.*\+1.*compared with main @/).waitFor();

  const finish = page.getByRole('region', { name: 'Finish' });
  await finish
    .getByText(`Commit 1 file on callboard/${stage.id}, then merge it (1 commit, 1 file) into main.`)
    .waitFor();
  await page.getByRole('link', { name: 'Details' }).click();
  await page.getByText(`callboard/${stage.id}`, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Complete', exact: true }).click();
  await page.getByRole('dialog').getByText('1 file with uncommitted changes (made.ts) would stay').waitFor();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Commit message' }).fill('Make it');
  await page.getByRole('dialog').getByRole('button', { name: 'Commit and merge into main' }).click();
  await page
    .getByText(/^merged [0-9a-f]{7} into main$/)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Undo merge' }).click();
  await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
  expect(errors).toEqual([]);
});

it('starts the next phase at its gate from the stage page', async () => {
  const pipeline = [
    { name: 'Design', prompt: 'Design it.', gate: 'human' },
    { name: 'Build', prompt: prompt({ steps: [{ text: 'Built.' }] }, 'Build it.'), gate: 'none' },
  ];
  const { page, errors } = await openStage({ steps: [{ text: 'Designed.' }] }, 'Design', { pipeline });
  await page.getByText('Designed.').waitFor();
  await page.getByRole('button', { name: /Build/ }).click();
  await page.getByText('Built.').waitFor();
  await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
  expect(errors).toEqual([]);
});
