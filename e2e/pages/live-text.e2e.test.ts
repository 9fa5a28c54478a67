import { expect, it } from 'vitest';
import { openStage } from '../support/open-stage.ts';

it('shows a text from its beginning to a person who opens the page in the middle of it, or comes back', async () => {
  // The text takes minutes, so that it has a middle however slow the machine is; nobody waits for its end.
  const words = Array.from({ length: 500 }, (_, index) => `word${index}`).join(' ');
  const step = { text: `The beginning: ${words}`, chunkChars: 16, chunkDelayMs: 700 };
  const { page, errors, context } = await openStage({ steps: [step] }, 'Write a lot');
  await page.getByText(/^The beginning: word0 .* word4 /).waitFor();
  await page.reload();
  await page.getByText(/^The beginning: word0 word1 .* word6 /).waitFor();
  expect(await page.getByText('word499').count()).toBe(0);

  const second = await context.newPage();
  await second.goto(page.url());
  await second.getByText(/^The beginning: word0 word1 .* word8 /).waitFor();
  expect(await second.getByText('word499').count()).toBe(0);
  expect(errors).toEqual([]);
});
