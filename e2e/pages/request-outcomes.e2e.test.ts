import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { openTestBoard, type TestBoard } from '../support/test-board.ts';

const done = { text: 'All finished.' };
const exact = (name: string) => ({ name, exact: true });
const question = {
  question: 'Which database?',
  header: 'Database',
  multiSelect: false,
  options: ['SQLite', 'PostgreSQL'].map((label) => ({ label, description: label })),
};

/** Creates a stage and starts it; resolves with its id. */
async function begin(
  { api }: TestBoard,
  title: string,
  steps: Parameters<TestBoard['api']['stage']>[1],
): Promise<string> {
  const stageId = await api.stage(title, steps);
  await api.start(stageId);
  return stageId;
}

const review = (page: Page, title: string) => page.getByRole('region', { name: 'Review' }).getByText(title);

it('lets a person decline to answer a question, and tells Claude why', async () => {
  const desk = await openTestBoard();
  const { page, errors, model, origin } = desk;
  const ask = { tools: [{ name: 'AskUserQuestion', input: { questions: [question] } }] };
  const stageId = await begin(desk, 'Login form', [ask, ask, done]);
  const dialog = page.getByRole('dialog', exact('Login form: A question'));
  await dialog.getByRole('textbox', exact('Reason')).fill('You know better');
  await dialog.getByRole('button', exact('Decline')).click();
  const reported = () => JSON.stringify(model.requests.at(-1)?.messages);
  await expect
    .poll(() => reported().includes('The user declined to answer. The reason given: You know better'))
    .toBe(true);

  // By key as well, and without a reason; the reason given before is not kept for the next question.
  await expect.poll(() => dialog.getByRole('textbox', exact('Reason')).inputValue()).toBe('');
  await expect.poll(() => dialog.getByRole('button', exact('Decline')).getAttribute('aria-keyshortcuts')).toBe('d');
  await page.keyboard.press('d');
  await review(page, 'Login form').waitFor();
  expect(reported()).toContain('The user declined to answer, and gave no reason.');
  await page.goto(`${origin}/stages/${stageId}`);
  await page
    .getByText(/^Declined by /)
    .first()
    .waitFor();
  await page.getByText('You know better').first().waitFor();
  expect(errors).toEqual([]);
});
