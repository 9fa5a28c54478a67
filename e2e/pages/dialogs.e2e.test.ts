import type { Locator, Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { choosePresentation } from '../support/presentation.ts';
import { openOwnBoard, openTestBoard } from '../support/test-board.ts';

const SIZES = [
  { width: 1440, height: 900 },
  { width: 1024, height: 768 },
  { width: 390, height: 844 },
];
const exact = (name: string) => ({ name, exact: true });

/** The controls of a dialog that something else lies over, when they are scrolled into view. */
const covered = (dialog: Locator) =>
  dialog.evaluate((element) =>
    [...element.querySelectorAll('button, a, input, textarea, select')]
      .filter((control) => control.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      .filter((control) => control.closest('[aria-label="Request"]') === null)
      .filter((control) => {
        control.scrollIntoView({ block: 'nearest' });
        const { left, top, width, height } = control.getBoundingClientRect();
        const over = document.elementFromPoint(left + width / 2, top + height / 2);
        return !element.contains(over) || over?.closest('[aria-label="Request"]') != null;
      })
      .map((control) => control.getAttribute('aria-label') ?? control.textContent),
  );

/** How to open each dialog from the board. */
const OPEN: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'New stage': (page) => page.keyboard.press('n'),
  'Add project': (page) => fromMenu(page, 'Projects', 'Add project'),
  Logins: (page) => fromMenu(page, 'Account', 'Logins'),
  Budgets: (page) => fromMenu(page, 'Account', 'Budgets'),
  'Edit Sort the pages': (page) => fromMenu(page, 'More for Sort the pages', 'Edit'),
  'Delete Sort the pages': (page) => fromMenu(page, 'More for Sort the pages', 'Delete'),
};

async function fromMenu(page: Page, menu: string, item: string): Promise<void> {
  await page.getByRole('button', exact(menu)).click();
  await page.getByRole('menuitem', exact(item)).click();
}

it('covers no control of a dialog with another stage’s request, at any width', async () => {
  const desk = await openOwnBoard(); // how requests appear would stay so for the next test
  const { page, api, errors } = desk;
  await choosePresentation(page, 'Only a card in the corner');
  await api.stage('Sort the pages', [{ text: 'Done.' }]);
  const asked = { tools: [{ name: 'Bash', input: { command: 'npm install left-pad', description: 'Do it' } }] };
  await api.start(await api.stage('Login form', [asked, { text: 'Done.' }]));
  const card = page.getByRole('region', exact('Request'));
  await card.waitFor();
  for (const [name, open] of Object.entries(OPEN)) {
    await open(page);
    const dialog = page.getByRole('dialog', { name });
    await dialog.getByRole('region', exact('Request')).waitFor();
    for (const size of SIZES) {
      await page.setViewportSize(size);
      await expect.poll(() => covered(dialog), { message: `${name} at ${size.width}` }).toEqual([]);
      expect(await card.getByRole('button').evaluateAll((all) => all.every((one) => one.checkVisibility()))).toBe(true);
      const { x = 0, width = 0 } = (await card.boundingBox()) ?? {};
      expect(x >= 0 && x + width <= size.width).toBe(true);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
  }
  expect(errors).toEqual([]);
});

it('shows a notice in the dialog that is open, where it covers no control, at any width', async () => {
  const { page, api, command, context } = await openTestBoard();
  await api.stage('Sort the pages', [{ text: 'Done.' }]);
  const browser = context.browser();
  if (browser === null) throw new Error('no browser');
  const other = await browser.newContext();
  onTestFinished(() => other.close());
  const link = /http\S+/.exec((await command('link')).output)?.[0] ?? '';
  const there = await other.newPage();
  await there.goto(link);
  const notice = page.getByText(/^New login: /);
  await notice.waitFor();
  for (const [name, open] of Object.entries(OPEN)) {
    await open(page);
    const dialog = page.getByRole('dialog', { name });
    await dialog.getByText(/^New login: /).waitFor();
    for (const size of SIZES) {
      await page.setViewportSize(size);
      await expect.poll(() => covered(dialog), { message: `${name} at ${size.width}` }).toEqual([]);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
  }
  await notice.waitFor(); // in its corner again
});
