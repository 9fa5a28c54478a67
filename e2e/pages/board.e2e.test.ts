import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { itAll } from '../../test-support/it-all.ts';
import { openTestBoard } from '../support/test-board.ts';

async function openBoard() {
  const desk = await openTestBoard();
  return { ...desk, region: (name: string) => desk.page.getByRole('region', { name }) };
}

it('treats a drop by the pointer as a command: started on Running, completed on Done', async () => {
  const { page, errors, region, api } = await openBoard();
  await api.stage('Search index', [{ text: 'All finished.' }]);
  /** Drags the stage from one column to another; says at which words it is dropped. */
  const drag = async (from: string, to: string, text: string) => {
    const target = await region(to).boundingBox();
    if (target === null) throw new Error('not on screen');
    await region(from)
      .getByRole('article', { name: 'Search index' })
      .hover({ position: { x: 40, y: 20 } });
    await page.mouse.down();
    await page.mouse.move(target.x + 60, target.y + 120, { steps: 6 });
    await page.getByText(text, { exact: true }).waitFor();
    await page.mouse.up();
  };
  await drag('Ready', 'Running', 'Drop to start it');
  await region('Review').getByRole('link', { name: 'Search index' }).waitFor();
  await drag('Review', 'Done', 'Drop to finish it');
  // It asks what becomes of the work: there is none.
  await page.getByRole('dialog').getByRole('button', { name: 'Finish', exact: true }).click();
  await region('Done').getByRole('link', { name: 'Search index' }).waitFor();
  expect(page.url()).not.toContain('/stages/');
  expect(errors).toEqual([]);
});

itAll('writes a stage with phases, edits it, and starts the next phase from its card', async () => {
  const { page, errors, region } = await openBoard();
  await page.getByRole('button', { name: 'New stage' }).first().click();
  const form = page.getByRole('dialog', { name: 'New stage' });
  await form.getByRole('textbox', { name: 'Title' }).fill('Rate limits');
  await form.getByRole('textbox', { name: 'Prompt', exact: true }).fill(prompt({ steps: [{ text: 'Designed.' }] }));
  await form.getByRole('button', { name: 'More', exact: true }).click();
  for (const [index, name] of ['Design', 'Build'].entries()) {
    if (index === 0) await form.getByRole('combobox', { name: 'Pipeline' }).selectOption('Custom phases');
    else await form.getByRole('button', { name: 'Add phase' }).click();
    await form.getByRole('textbox', { name: `Name of phase ${index + 1}` }).fill(name);
    await form.getByRole('textbox', { name: `Prompt of phase ${index + 1}` }).fill(`${name} it.`);
  }
  // After closing it by mistake, everything is there again, even after a reload.
  await page.keyboard.press('Escape');
  await form.waitFor({ state: 'hidden' });
  await page.reload();
  await page.getByRole('button', { name: 'New stage' }).first().click();
  await form.getByText('Draft restored').waitFor();
  await expect.poll(() => form.getByRole('textbox', { name: 'Name of phase 2' }).inputValue()).toBe('Build');
  await form.getByRole('button', { name: 'More', exact: true }).click();
  await form.getByRole('checkbox', { name: 'Keep in backlog' }).check();
  await form.getByRole('button', { name: 'Add to board' }).click();
  await region('Backlog').getByText('On hold').waitFor();
  await page.getByRole('button', { name: 'New stage' }).first().click();
  await form.getByRole('button', { name: 'Add to board' }).waitFor();
  expect(await form.getByRole('textbox', { name: 'Title' }).inputValue()).toBe('');
  await page.keyboard.press('Escape');

  const edit = async () => {
    await page.getByRole('button', { name: 'More for Rate limits' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    return page.getByRole('dialog', { name: 'Edit Rate limits' });
  };
  const first = await edit();
  await first.getByRole('checkbox', { name: 'Keep in backlog' }).uncheck();
  await first.getByRole('combobox', { name: 'Priority' }).selectOption('0');
  await first.getByRole('button', { name: 'Save' }).click();
  await region('Ready').getByRole('img', { name: 'Urgent priority' }).waitFor();

  await region('Ready').getByRole('button', { name: 'Start' }).click();
  await region('Needs you').getByText('Design finished').waitFor();
  const second = await edit();
  await second.getByText(/It was started/).waitFor();
  await expect.poll(() => second.getByRole('textbox', { name: 'Name of phase 1' }).isDisabled()).toBe(true);
  await expect.poll(() => second.getByRole('textbox', { name: 'Prompt', exact: true }).count()).toBe(0);
  await page.keyboard.press('Escape');
  await region('Needs you').getByRole('button', { name: 'Start Build' }).click();
  await region('Review').getByRole('img', { name: 'Build, phase 2 of 2' }).waitFor();
  expect(errors).toEqual([]);
});

it('shows one column at a time on a phone, with tabs that carry counts', async () => {
  const { page, errors, api } = await openBoard();
  await page.setViewportSize({ width: 390, height: 844 });
  await api.stage('Audit log', [{ text: 'Done.' }]);
  const tabs = page.getByRole('tablist', { name: 'Column shown' });
  const chosen = tabs.getByRole('tab', { selected: true });
  await expect.poll(() => tabs.getByRole('tab').first().textContent()).toContain('Needs you');
  await tabs.getByRole('tab', { name: 'Ready 1' }).click();
  await page.getByRole('link', { name: 'Audit log' }).waitFor();
  for (const [key, name] of [
    ['ArrowRight', 'Backlog 0'],
    ['End', 'Done 0'],
    ['ArrowRight', 'Needs you 0'],
  ] as const) {
    await page.keyboard.press(key);
    await expect.poll(() => chosen.textContent()).toBe(name);
    expect(await chosen.evaluate((tab) => tab === document.activeElement)).toBe(true);
  }
  await expect.poll(() => page.getByRole('link', { name: 'Audit log' }).isVisible()).toBe(false);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  expect(errors).toEqual([]);
});

itAll(
  'moves from card to card by arrow keys, unless a card is lifted, and shows on a card what its stage has changed',
  async () => {
    const { page, errors, region, api } = await openBoard();
    const write = { name: 'Write', input: { file_path: 'made.ts', content: 'one\ntwo\n' } };
    const made = await api.stage('Makes a file', [{ tools: [write] }, { text: 'Made.' }], {
      permissionMode: 'acceptEdits',
    });
    await api.stage('First', [{ text: 'Done.' }], { priority: 0 });
    await api.stage('Second', [{ text: 'Done.' }], { priority: 1 });
    await api.start(made);
    const review = region('Review');
    await review.getByRole('img', { name: '1 file changed, 2 lines added, 0 removed' }).waitFor();
    await expect.poll(() => review.getByText('+2 1 file').count()).toBe(1);

    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    const press = async (key: string, lands: string) => {
      await page.keyboard.press(key);
      await expect.poll(focused).toBe(lands);
    };
    await page.getByRole('link', { name: 'First', exact: true }).focus();
    await press('ArrowDown', 'Second');
    await press('ArrowRight', 'Makes a file');
    await press('ArrowRight', 'Makes a file');
    await press('ArrowLeft', 'First');
    await press('End', 'Second');
    await press('ArrowUp', 'First');

    // While a card is lifted, the same keys move it.
    await page.keyboard.press('Space');
    await page.locator('[data-dragging="true"]').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByText('Drop to start it').first().waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('[data-dragging="true"]').count()).toBe(0);
    await expect.poll(focused).toBe('First');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('/stages/');
    expect(errors).toEqual([]);
  },
);
