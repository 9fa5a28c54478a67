import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { openEmptyBoard, openTestBoard, type TestBoard } from '../support/test-board.ts';
import { turnTo } from '../support/turn-to.ts';

const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] });
const done = { text: 'All finished.' };
const ask = (...questions: { question: string; header: string }[]) => {
  const options = ['Yes', 'No'].map((label) => ({ label, description: label }));
  const asked = questions.map((question) => ({ ...question, multiSelect: false, options }));
  return { tools: [{ name: 'AskUserQuestion', input: { questions: asked } }] };
};
const wants = (title: string) => ({ name: `${title}: Run this command?` });
const exact = (name: string) => ({ name, exact: true });

/** Which key the button currently offers. */
const promised = (_page: Page, form: ReturnType<Page['getByRole']>, name = 'Allow') =>
  form.getByRole('button', exact(name)).getAttribute('aria-keyshortcuts');

/** Waits in the page for this long, because the rules use the page's clock. */
const pass = (page: Page, ms: number) =>
  page.evaluate((time) => new Promise((resolve) => setTimeout(resolve, time)), ms);

async function begin(
  { api }: TestBoard,
  title: string,
  ...steps: Parameters<TestBoard['api']['stage']>[1]
): Promise<string> {
  const stageId = await api.stage(title, [...steps, done]);
  await api.start(stageId);
  return stageId;
}

const pendingOf = async ({ api }: TestBoard, stageId: string): Promise<{ input: { command: string } }[]> =>
  (await api.get(`/api/sessions/${stageId}/pending`)).pending;

/** The card covers nothing that can be read or pressed, at any width. */
async function expectNothingBelow(page: Page, card: Locator): Promise<void> {
  for (const size of [
    { width: 390, height: 844 },
    { width: 1024, height: 768 },
    { width: 1280, height: 800 },
  ]) {
    await page.setViewportSize(size);
    const { x = 0, y = 0, width = 0, height = 0 } = (await card.boundingBox()) ?? {};
    const others = page.getByRole('banner').locator(size.width < 768 ? 'button' : 'a, button');
    const boxes = await Promise.all((await others.all()).map((other) => other.boundingBox()));
    const covered = boxes.filter((box) => box !== null && box.x < x + width && box.x + box.width > x);
    expect({ size, covered, isInHeader: y >= 0 && y + height <= 48 }).toEqual({ size, covered: [], isInHeader: true });
  }
}

it('shows another stage’s request in the corner of a page that has a form, where no key decides it', async () => {
  const desk = await openEmptyBoard();
  const { page, origin, api, errors } = desk;
  const x = await begin(desk, 'Login form', ask({ question: 'Which one?', header: 'One' }));
  await page.goto(`${origin}/stages/${x}`);
  const form = page.getByRole('form', exact('Login form: A question'));
  await form.waitFor();
  const card = page.getByRole('region', exact('Request'));
  const others: string[] = [];
  for (const [nth, wait] of [0, 120, 260, 500, 800].entries()) {
    const y = await begin(desk, `Footer ${nth}`, bash('touch y.txt'));
    others.push(y);
    await card.getByText(nth === 0 ? 'Footer 0' : `${nth} more`).waitFor();
    await pass(page, wait);
    for (const key of ['a', 'Enter', 'Space']) await page.keyboard.press(key);
    expect(await page.getByRole('dialog').count()).toBe(0);
  }
  for (const stageId of [x, ...others]) expect(await pendingOf(desk, stageId)).toHaveLength(1);
  await expectNothingBelow(page, card);

  // C turns to it: the request that has waited longest comes, and its keys work.
  const [first = ''] = others;
  await card.getByText('Footer 0').waitFor();
  await card.getByText(first, { exact: true }).waitFor();
  await card.getByText('touch y.txt').waitFor();
  await card.getByText('Look').waitFor();
  await page.keyboard.press('c');
  const footer = page.getByRole('dialog', wants('Footer 0'));
  await expect.poll(() => promised(page, footer)).toBe('a');
  await page.keyboard.press('a');
  await expect.poll(() => pendingOf(desk, first)).toHaveLength(0);
  // The next one is in the corner again, not over the form, whose own keys work once nobody does anything else.
  await card.getByText('Footer 1').waitFor();
  await footer.waitFor({ state: 'hidden' });
  expect(await pendingOf(desk, x)).toHaveLength(1);
  await expect.poll(() => form.getByRole('radio', exact('Yes')).getAttribute('aria-keyshortcuts')).toBe('1');
  await page.keyboard.press('1');
  await expect.poll(() => promised(page, form, 'Submit')).toBe('a');
  await page.keyboard.press('a');
  await expect.poll(() => pendingOf(desk, x)).toHaveLength(0);

  // Now the page has no form, and the request comes over it; an unfinished text counts as a form.
  await page.getByRole('dialog', wants('Footer 1')).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  await message.fill('And now');
  await begin(desk, 'Header', bash('touch h.txt'));
  await card.getByText('Header').waitFor();
  await message.press('a');
  expect(await message.inputValue()).toBe('And nowa');
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect((await api.get('/api/board')).pending).toHaveLength(5);
  expect(errors).toEqual([]);
});

it('answers one request with a key that is held down, and never the next; keys work on the request that a person turned to', async () => {
  const desk = await openTestBoard();
  const { page, errors } = desk;
  const dialog = page.getByRole('dialog', wants('Login form'));
  const allow = dialog.getByRole('button', exact('Allow'));
  const isFocused = () => allow.evaluate((element) => element === document.activeElement);
  const tabToAllow = async () => {
    while (!(await isFocused())) await page.keyboard.press('Tab');
  };
  const repeat = async (key: string) => {
    for (let times = 0; times < 14; times += 1) {
      await pass(page, 100);
      await page.keyboard.down(key);
    }
  };
  const asked = async () => (await pendingOf(desk, x))[0]?.input.command;
  const x = await begin(desk, 'Login form', ...['1', '2', '3', '4', '5'].map((nth) => bash(`touch ${nth}.txt`)));
  await dialog.getByText('touch 1.txt').waitFor();
  // Nobody has turned to it: it is armed after a second on the screen without any action.
  await expect.poll(() => promised(page, dialog)).toBe('a');
  await page.keyboard.down('a');
  await dialog.getByText('touch 2.txt').waitFor();
  await repeat('a');
  expect(await asked()).toBe('touch 2.txt');
  await page.keyboard.up('a');

  // The pointer moves onto it.
  await page.mouse.move(2, 2);
  await page.mouse.move(640, 300, { steps: 3 });
  await expect.poll(() => promised(page, dialog)).toBe('a');
  await page.keyboard.press('a');
  await dialog.getByText('touch 3.txt').waitFor();

  // Tab turns to it; the button has the focus before it can be pressed, and keeps it.
  await tabToAllow();
  await expect.poll(() => promised(page, dialog)).toBe('a');
  expect(await isFocused()).toBe(true);
  await page.keyboard.down('Enter');
  await dialog.getByText('touch 4.txt').waitFor();
  await tabToAllow();
  await repeat('Enter');
  expect(await asked()).toBe('touch 4.txt');
  await page.keyboard.up('Enter');

  // A press needs no arming.
  await allow.click();
  await dialog.getByText('touch 5.txt').waitFor();
  await allow.click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  expect(errors).toEqual([]);
});

it('decides nothing with a key that went down before the request was armed, however late a busy page hears of it', async () => {
  const desk = await openTestBoard();
  const { page, errors } = desk;
  const cdp = await page.context().newCDPSession(page);
  const dialog = page.getByRole('dialog', wants('Login form'));
  const drawnAt = page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const observer = new MutationObserver(() => {
          if (document.querySelector('[role="dialog"] form') === null) return;
          observer.disconnect();
          resolve(Date.now());
        });
        observer.observe(document.body, { subtree: true, childList: true });
      }),
  );
  const x = await begin(desk, 'Login form', bash('touch 1.txt'));
  const timestamp = ((await drawnAt) + 600) / 1_000;
  await expect.poll(() => promised(page, dialog)).toBe('a');
  await cdp.send('Input.dispatchKeyEvent', { type: 'keyDown', key: 'a', code: 'KeyA', text: 'a', timestamp });
  await cdp.send('Input.dispatchKeyEvent', { type: 'keyUp', key: 'a', code: 'KeyA', timestamp });
  await expect.poll(() => promised(page, dialog, 'Deny')).toBe('d');
  await page.keyboard.press('d');
  await expect.poll(() => pendingOf(desk, x)).toHaveLength(0);
  const { decisions } = await desk.api.get(`/api/decisions?stageId=${x}`);
  expect(decisions.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['denied']);
  expect(errors).toEqual([]);
});

it('accepts the answer to a question of any text, by digits, and shows it in one line', async () => {
  const desk = await openTestBoard();
  const { page, model, errors } = desk;
  const x = await begin(
    desk,
    'Login form',
    ask({ question: '__proto__', header: 'Which one' }, { question: 'Write tests?', header: 'Tests' }),
    ask({ question: 'Which database?', header: 'Database' }, { question: 'Write docs?', header: 'Docs' }),
  );
  const dialog = page.getByRole('dialog', exact('Login form: 2 questions'));
  const submit = dialog.getByRole('button', exact('Submit'));
  for (const group of ['__proto__', 'Which database?']) {
    const options = dialog.getByRole('group', { name: group });
    await expect.poll(() => options.getByRole('radio', exact('No')).getAttribute('aria-keyshortcuts')).toBe('2');
    await page.keyboard.press('2');
    await expect.poll(() => options.getByRole('radio', exact('No')).isChecked()).toBe(true);
    await page.keyboard.press('1');
    await expect.poll(() => submit.getAttribute('aria-keyshortcuts')).toBe('a');
    await expect.poll(() => submit.isEnabled()).toBe(true);
    await page.keyboard.press('a');
    await options.waitFor({ state: 'hidden' });
  }
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('__proto__');
  await turnTo(page, `/stages/${x}`);
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByRole('button', { name: /^Database: No; Docs: Yes · Answered by .+ after / }).waitFor();
  expect(errors).toEqual([]);
});
