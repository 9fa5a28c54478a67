import { prompt } from '@callboard/scripted-model';
import type { Locator } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { install } from '../support/callboard.ts';
import { lengthenTranscript } from '../support/long-transcript.ts';
import { gated, messageBox, openStage, queuedRows } from '../support/open-stage.ts';
import { apiOf } from '../support/scene.ts';

it('opens a long transcript at its end, keeps the place of whoever scrolls up, and fetches what came before', async () => {
  const blocks = (from: number) =>
    Array.from({ length: 160 }, (_, i) => ({
      type: 'text' as const,
      text: `Step number ${from + i}, with ${'a few more words '.repeat((from + i) % 40)}`,
    }));
  const tools = [{ type: 'tool_use' as const, name: 'Read', input: { file_path: 'README.md' } }];
  const steps = [
    { blocks: [...blocks(1), ...tools] },
    { blocks: [...blocks(161), ...tools] },
    { text: 'The very end.' },
  ];
  const { page, errors } = await openStage({ steps }, 'Go through all of it');
  await page.getByText('The very end.').waitFor({ timeout: 60_000 }); // hundreds of entries: 10 s on a busy machine
  await page.reload();
  await page.getByText('The very end.').waitFor();
  const transcript = page.getByRole('region', { name: 'Transcript' });
  const rows = () => transcript.locator('[data-index]').count();
  await expect.poll(rows).toBeLessThan(60);
  await expect.poll(() => page.getByRole('button', { name: 'Jump to end' }).count()).toBe(0);

  // Up to the first entry, page by page.
  await transcript.hover();
  await expect
    .poll(
      async () => {
        await page.mouse.wheel(0, -3_000);
        return page.getByText('Step number 1, with').count();
      },
      { interval: 150 },
    )
    .toBe(1);
  await expect.poll(rows).toBeLessThan(60);

  // Something new at the end moves nothing.
  await page.mouse.wheel(0, 1_500);
  let shown = '';
  let before = Number.NaN;
  const place = async () => (await page.getByText(`${shown}, with`).boundingBox())?.y ?? Number.NaN;
  const hasSettled = async () => {
    const last = `${shown} at ${before}`;
    shown = await transcript.evaluate((box) => {
      const { top } = box.getBoundingClientRect();
      const inSight = [...box.querySelectorAll('p')].find((p) => p.getBoundingClientRect().top > top + 50);
      return inSight?.textContent?.split(',')[0] ?? '';
    });
    before = await place();
    return `${shown} at ${before}` === last;
  };
  await expect.poll(hasSettled, { interval: 500 }).toBe(true);
  const length = () => transcript.evaluate((box) => box.scrollHeight);
  const lengthBefore = await length();
  await messageBox(page).fill(prompt({ steps: [{ text: 'One thing more.' }] }, 'And?'));
  await messageBox(page).press('Enter');
  await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
  await expect.poll(length).toBeGreaterThan(lengthBefore);
  await expect.poll(async () => Math.abs((await place()) - before)).toBeLessThan(3);
  await page.getByRole('button', { name: 'Jump to end' }).click();
  await page.getByText('One thing more.').waitFor();
  expect(errors).toEqual([]);
});

it('lets queued messages be edited, moved, removed and sent, and releases a queue that is held', async () => {
  const { page, errors, model } = await openStage(gated('first'), 'Wait for me');
  await page.getByRole('button', { name: 'Interrupt' }).waitFor();
  for (const text of ['one', 'two', 'three']) {
    await messageBox(page).fill(text);
    await messageBox(page).press('Enter');
    await queuedRows(page).filter({ hasText: text }).waitFor();
    await expect.poll(() => messageBox(page).inputValue()).toBe('');
  }
  await page.getByText('3 messages queued: the next goes when this turn has ended').waitFor();
  await queuedRows(page).filter({ hasText: 'two' }).getByRole('button', { name: 'Edit queued message' }).click();
  await page.getByRole('textbox', { name: 'Queued message' }).fill('two and a half');
  await page.getByRole('button', { name: 'Save' }).click();
  await queuedRows(page).filter({ hasText: 'two and a half' }).waitFor();
  await queuedRows(page).filter({ hasText: 'three' }).getByRole('button', { name: 'Move up' }).click();
  await expect.poll(() => queuedRows(page).nth(1).textContent()).toContain('three');
  await queuedRows(page).filter({ hasText: 'one' }).getByRole('button', { name: 'Remove queued message' }).click();
  await expect.poll(() => queuedRows(page).count()).toBe(2);

  // Sent now: the turn is interrupted, and the message is the next that Claude reads.
  await queuedRows(page).filter({ hasText: 'half' }).getByRole('button', { name: 'Send queued message' }).click();
  await page.getByRole('menuitem', { name: /Send now/ }).click();
  await page.getByRole('region', { name: 'Transcript' }).getByText('two and a half').waitFor();
  await expect.poll(() => JSON.stringify(model.requests.at(-1)?.messages ?? '')).toContain('two and a half');
  model.release('first');
  await page.getByRole('region', { name: 'Transcript' }).getByText('three').waitFor();
  expect(errors).toEqual([]);
});

it('shows of a long queue what was added last, the whole of a row, and all of the editor, also on a phone', async () => {
  const { page, errors } = await openStage(gated('never'), 'Wait for me');
  await page.getByRole('button', { name: 'Interrupt' }).waitFor();
  const long = 'many words that do not fit into a line of it '.repeat(20);
  for (const text of ['one', `two: ${long}`, 'three', 'four', 'five', 'six']) {
    await messageBox(page).fill(text);
    await messageBox(page).press('Enter');
    await expect.poll(() => messageBox(page).inputValue()).toBe('');
  }
  const list = page.getByRole('region', { name: 'Queued messages' }).getByRole('list');
  const isInSight = (where: Locator) =>
    where.evaluate((element) => {
      const { left, top, bottom } = element.getBoundingClientRect();
      return [top + 4, bottom - 4].every((y) => element.contains(document.elementFromPoint(left + 4, y)));
    });
  await expect.poll(() => list.evaluate((element) => element.scrollHeight > element.clientHeight)).toBe(true);
  await expect.poll(() => isInSight(queuedRows(page).filter({ hasText: 'six' }).getByText('six'))).toBe(true);

  const second = queuedRows(page).nth(1);
  const height = async () => (await second.boundingBox())?.height ?? 0;
  const before = await height();
  await second.getByRole('button', { name: 'Show all' }).click();
  await expect.poll(height).toBeGreaterThan(before);
  await second.getByRole('button', { name: 'Show less' }).click();

  await page.setViewportSize({ width: 390, height: 844 });
  await second.getByRole('button', { name: 'What to do with it' }).click();
  await page.getByRole('menuitem', { name: 'Edit' }).click();
  await expect.poll(() => isInSight(page.getByRole('button', { name: 'Save' }))).toBe(true);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await second.getByRole('button', { name: 'Show all' }).waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });

  // The second half of a double click comes to nothing.
  const interrupt = page.getByRole('button', { name: 'Interrupt' });
  const place = await interrupt.boundingBox();
  if (place === null) throw new Error('there is nothing to interrupt with');
  const underPointer = page.evaluate(
    ([x, y]) =>
      new Promise<boolean | undefined>((resolve) => {
        const look = () => {
          const isOver = document.querySelector('h1')?.parentElement?.textContent?.includes('Interrupted');
          if (isOver) resolve(document.elementFromPoint(x, y)?.closest('button')?.disabled);
          else requestAnimationFrame(look);
        };
        look();
      }),
    [place.x + place.width / 2, place.y + place.height / 2] as const,
  );
  await interrupt.click();
  expect(await underPointer).toBe(true);
  await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
  expect(errors).toEqual([]);
});

it('shows a form that does not fit from its top on, and moves nobody who looks elsewhere or opens something', async () => {
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

  // Whoever goes on to the end stays there, also when the form grows.
  await page.getByRole('button', { name: 'Jump to end' }).click();
  const isAtEnd = () => transcript.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 48);
  await expect.poll(isAtEnd).toBe(true);
  await page.getByRole('textbox', { name: /Reason/ }).fill('no\nnot\nlike\nthis');
  await expect.poll(isAtEnd).toBe(true);
  await page.getByRole('button', { name: 'Decline' }).click();

  const writing = page.getByRole('heading', { name: /wants to write/ });
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

it('interrupts on a second Escape, holds the queue until it is released, and goes on', async () => {
  const { page, errors } = await openStage(gated('never'), 'Wait for me');
  await page.getByRole('button', { name: 'Interrupt' }).waitFor();
  await messageBox(page).fill(prompt({ steps: [{ text: 'Now it goes on.' }] }, 'Go on'));
  await messageBox(page).press('Enter');
  await queuedRows(page).first().waitFor();
  const again = page.getByRole('button', { name: 'Esc again to interrupt' });

  // One that closes something does not count, also where nothing fades.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('textbox', { name: 'Search or command' });
  await palette.waitFor();
  await page.keyboard.press('Escape');
  await palette.waitFor({ state: 'hidden' });
  expect(await again.count()).toBe(0);

  // For a moment after that no Escape counts.
  await expect
    .poll(
      async () => {
        await page.keyboard.press('Escape');
        return again.count();
      },
      { interval: 1_500 },
    )
    .toBe(1);
  await again.waitFor({ state: 'detached' }); // one alone is forgotten
  await page.getByRole('button', { name: 'Interrupt', exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.getByText('Interrupted', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Release' }).click();
  await page.getByText('Now it goes on.').waitFor();
  expect(errors).toEqual([]);
});

it('sends files along, keeps the draft over a reload, and runs a command only when told to', async () => {
  const { page, errors, model, url, context } = await openStage({ steps: [{ text: 'Ready.' }] }, 'Say when');
  await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
  await messageBox(page).fill('half a thought');
  await page.reload();
  await expect.poll(() => messageBox(page).inputValue()).toBe('half a thought');

  // On another device it is the same draft.
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

it('lets mode, model and effort of an ended session be changed, for its next start', async () => {
  const { page, errors, model } = await openStage({ steps: [{ text: 'First.' }] }, 'Begin');
  await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: /^Stop/ }).click();
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
  await page.getByText('Second.').waitFor(); // it was not asked for
  expect(model.requests.at(-1)?.model).toContain('haiku');
  await expect.poll(() => page.getByRole('combobox', { name: 'Permission mode' }).inputValue()).toBe('acceptEdits');
  await expect.poll(() => page.getByRole('combobox', { name: 'Effort' }).inputValue()).toBe('high');
  await expect.poll(() => page.getByText('From the next start').count()).toBe(0);
  expect(errors).toEqual([]);
});

it('changes the mode, shows what was changed, and merges it or says why not', async () => {
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
  const change = page.getByRole('region', { name: 'Changes of made.ts' });
  await change.getByText('export const made = 1;').waitFor();
  await page.getByText('1 file, +1 −0').waitFor();

  await page.getByRole('button', { name: 'Complete and merge' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Complete and merge' }).click();
  await page
    .getByRole('alert')
    .getByText(/Not merged.*1 file has uncommitted changes/)
    .waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByRole('link', { name: 'Details' }).click();
  await page.getByText(`callboard/${stage.id}`, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Complete', exact: true }).click();
  await page.getByText('Done', { exact: true }).first().waitFor();
  expect(errors.filter((error) => !error.includes('409'))).toEqual([]);
});

it('goes to the first entry and the last, shows what it does not know, and keeps the place over tabs and stages', async () => {
  const { start, dataDir, command } = await install();
  const before = await start();
  const { page, errors } = await openBrowser();
  await page.goto(before.loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor({ state: 'attached' });
  const api = apiOf(before.origin);
  const [stageId, otherId] = [
    await api.stage('Long', [{ text: 'Ready.' }]),
    await api.stage('Other', [{ text: 'Hello.' }]),
  ];
  for (const id of [stageId, otherId]) {
    await api.start(id);
    await page.goto(`${before.origin}/stages/${id}`);
    await page.getByRole('button', { name: 'Complete', exact: true }).waitFor();
  }
  await page.goto('about:blank');
  await before.stop();
  await command('down');
  const own = { parentToolUseId: null };
  await lengthenTranscript(dataDir, stageId, 2_500, [
    { ...own, kind: 'unknown', raw: { type: 'novelty', words: 'never seen' } },
    { ...own, kind: 'text', blockId: 'last:0', text: 'The very last words.' },
  ]);
  const { loginLink, origin, stop } = await start();
  onTestFinished(stop);
  await page.goto(loginLink);
  await page.goto(`${origin}/stages/${stageId}`);
  await page.getByText('The very last words.').waitFor();
  await page.getByRole('button', { name: 'Something this version does not know' }).click();
  await page.getByText('"never seen"').waitFor();

  const box = page.getByRole('region', { name: 'Transcript' });
  const rows = () => box.locator('[data-index]').count();
  await box.focus();
  await page.keyboard.press('Home');
  await page.getByText('Question 0', { exact: true }).waitFor();
  await expect.poll(rows).toBeLessThan(60);
  await page.keyboard.press('End');
  await page.getByText('The very last words.').waitFor();

  // Somewhere in the middle, and away from it.
  await box.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
  const inSight = () =>
    box.evaluate((element) => {
      const { top } = element.getBoundingClientRect();
      const row = [...element.querySelectorAll('[data-index]')].find((one) => one.getBoundingClientRect().top >= top);
      return `${row?.textContent?.slice(0, 40)} at ${Math.round((row?.getBoundingClientRect().top ?? 0) - top)}`;
    });
  let place = '';
  const hasSettled = async () => {
    const last = place;
    place = await inSight();
    return place === last;
  };
  await expect.poll(hasSettled).toBe(true);
  expect(place).toMatch(/\w+ .*at \d+/);
  await page.getByRole('link', { name: /Changes/ }).click();
  await expect.poll(() => box.count()).toBe(0);
  await page.getByRole('link', { name: 'Transcript' }).click();
  await expect.poll(inSight).toBe(place);
  await page.getByRole('link', { name: 'Board', exact: true }).click();
  await page.getByRole('link', { name: 'Other' }).click();
  await page.getByText('Hello.').waitFor();
  await page.goBack();
  await page.goBack();
  await expect.poll(inSight).toBe(place);
  await page.getByRole('button', { name: 'Jump to start' }).click();
  await page.getByText('Question 0', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Jump to end' }).click();
  await page.getByText('The very last words.').waitFor();
  expect(errors).toEqual([]);
});

it('lets the next phase begin at its gate, from the page of the stage', async () => {
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
