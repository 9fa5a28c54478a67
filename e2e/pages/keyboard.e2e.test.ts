import { named } from '@callboard/scripted-model';
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { openTestBoard } from '../support/test-board.ts';

const isFocused = (target: Locator) => target.evaluate((element) => element === document.activeElement);

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let presses = 0; !(await isFocused(target)); presses += 1) {
    if (presses === 60) throw new Error(`Tab does not lead to ${target}`);
    await page.keyboard.press('Tab');
  }
}

it('does a whole job by keyboard alone: write, start, answer, deny, write to Claude, complete', async () => {
  const { page, errors, model } = await openTestBoard();
  const options = [
    { label: 'SQLite', description: 'One file' },
    { label: 'PostgreSQL', description: 'A server' },
  ];
  const question = { question: 'Which database?', header: 'Database', multiSelect: false, options };
  const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] });
  model.setScript('job', {
    steps: [
      { tools: [{ name: 'AskUserQuestion', input: { questions: [question] } }] },
      bash('touch one.txt'),
      bash('touch two.txt'),
      { text: 'All finished.' },
    ],
  });
  model.setScript('more', { steps: [{ text: 'Said.' }] });
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });

  await page.keyboard.press('n');
  await tabTo(page, page.getByRole('textbox', { name: 'Title' }));
  await page.keyboard.type('Search index');
  await tabTo(page, page.getByRole('textbox', { name: 'Prompt' }));
  await page.keyboard.type(named('job', 'Build it.'));
  await page.keyboard.press('Control+Enter');

  await page.getByRole('dialog', { name: 'Search index: A question' }).waitFor();
  await tabTo(page, page.getByRole('radio', { name: 'SQLite' }));
  await page.keyboard.press('ArrowDown');
  await expect.poll(() => page.getByRole('radio', { name: 'PostgreSQL' }).isChecked()).toBe(true);
  await expect.poll(() => button('Submit').isEnabled()).toBe(true);
  await tabTo(page, button('Submit'));
  await page.keyboard.press('Enter');

  const overlay = page.getByRole('dialog', { name: 'Search index: Run this command?' });
  await overlay.getByText('touch one.txt').waitFor();
  // Nobody turned to it: its keys work after a second on the screen without any action.
  await expect.poll(() => button('Allow').getAttribute('aria-keyshortcuts')).toBe('a');
  await page.keyboard.press('a');
  await overlay.getByText('touch two.txt').waitFor();
  await expect.poll(() => button('Deny').isEnabled()).toBe(true);
  await tabTo(page, overlay.getByRole('textbox').first());
  await page.keyboard.type('One is enough');
  await tabTo(page, button('Deny'));
  await page.keyboard.press('Enter');
  await overlay.waitFor({ state: 'hidden' });

  // Reaches the card, and opens it.
  const card = page.getByRole('region', { name: 'Review' }).getByRole('link', { name: 'Search index' });
  await tabTo(page, card);
  await page.keyboard.press('Enter');
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await expect.poll(() => transcript.textContent()).toContain('One is enough'); // shows what is there instead
  await transcript.getByText('All finished.').waitFor();
  await tabTo(page, page.getByRole('textbox', { name: 'Message', exact: true }));
  await page.keyboard.type(named('more', 'And now?'));
  await page.keyboard.press('Enter');
  await transcript.getByText('Said.').waitFor();
  await tabTo(page, button('Finish'));
  await page.keyboard.press('Enter');
  await tabTo(
    page,
    page.getByRole('region', { name: 'Finish' }).getByRole('button', { name: 'Finish without merging' }),
  );
  await page.keyboard.press('Enter');
  await page.getByText('Done', { exact: true }).first().waitFor();
  await page.getByRole('dialog').waitFor({ state: 'hidden' }); // while it closes, it has the keys

  await page.keyboard.press('g');
  await page.keyboard.press('b');
  await page.getByRole('region', { name: 'Done' }).getByText('Search index').waitFor();
  expect(errors).toEqual([]);
});
