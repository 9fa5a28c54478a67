import { prompt } from '@callboard/scripted-model';
import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { itAll } from '../../test-support/it-all.ts';
import { gated, messageBox, openStage, queuedRows } from '../support/open-stage.ts';

itAll('edits, moves, removes and sends queued messages, and releases a held queue', async () => {
  const { page, errors, model } = await openStage(gated('first'), 'Wait for me');
  await page.getByRole('button', { name: 'Interrupt' }).waitFor();
  for (const text of ['one', 'two', 'three']) {
    await messageBox(page).fill(text);
    await messageBox(page).press('Enter');
    await queuedRows(page).filter({ hasText: text }).waitFor();
    await expect.poll(() => messageBox(page).inputValue()).toBe('');
  }
  await page.getByText('3 messages queued: the next one is sent when this turn ends').waitFor();
  await queuedRows(page).filter({ hasText: 'two' }).getByRole('button', { name: 'Edit queued message' }).click();
  await page.getByRole('textbox', { name: 'Queued message' }).fill('two and a half');
  await page.getByRole('button', { name: 'Save' }).click();
  await queuedRows(page).filter({ hasText: 'two and a half' }).waitFor();
  await queuedRows(page).filter({ hasText: 'three' }).getByRole('button', { name: 'Move up' }).click();
  await expect.poll(() => queuedRows(page).nth(1).textContent()).toContain('three');
  await queuedRows(page).filter({ hasText: 'one' }).getByRole('button', { name: 'Remove queued message' }).click();
  await expect.poll(() => queuedRows(page).count()).toBe(2);

  // Sent now: the turn is interrupted, and Claude reads this message next.
  await queuedRows(page).filter({ hasText: 'half' }).getByRole('button', { name: 'Send queued message' }).click();
  await page.getByRole('menuitem', { name: /Send now/ }).click();
  await page.getByRole('region', { name: 'Transcript' }).getByText('two and a half').waitFor();
  await expect.poll(() => JSON.stringify(model.requests.at(-1)?.messages ?? '')).toContain('two and a half');
  model.release('first');
  await page.getByRole('region', { name: 'Transcript' }).getByText('three').waitFor();
  expect(errors).toEqual([]);
});

it('shows the newest messages of a long queue, a message in full, and the whole editor, even on a phone', async () => {
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

  // The second half of a double click has no effect.
  const interrupt = page.getByRole('button', { name: 'Interrupt' });
  const place = await interrupt.boundingBox();
  if (place === null) throw new Error('there is nothing to interrupt with');
  const underPointer = page.evaluate(
    ([x, y]) =>
      new Promise<boolean | undefined>((resolve) => {
        const check = () => {
          const isOver = document.querySelector('h1')?.closest('header')?.textContent?.includes('Interrupted');
          if (isOver) resolve(document.elementFromPoint(x, y)?.closest('button')?.disabled);
          else requestAnimationFrame(check);
        };
        check();
      }),
    [place.x + place.width / 2, place.y + place.height / 2] as const,
  );
  await interrupt.click();
  expect(await underPointer).toBe(true);
  await page.getByRole('button', { name: 'Finish', exact: true }).waitFor();
  expect(errors).toEqual([]);
});

itAll('interrupts on a second Escape, holds the queue until it is released, and continues', async () => {
  const { page, errors } = await openStage(gated('never'), 'Wait for me');
  await page.getByRole('button', { name: 'Interrupt' }).waitFor();
  await messageBox(page).fill(prompt({ steps: [{ text: 'Now it goes on.' }] }, 'Go on'));
  await messageBox(page).press('Enter');
  await queuedRows(page).first().waitFor();
  const again = page.getByRole('button', { name: 'Esc again to interrupt' });

  // An Escape that closes something does not count, even if nothing fades.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('combobox', { name: 'Search or command' });
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
  await again.waitFor({ state: 'detached' }); // a single Escape is forgotten
  await page.getByRole('button', { name: 'Interrupt', exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.getByText('Interrupted', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Send queued', exact: true }).click();
  await page.getByText('Now it goes on.').waitFor();
  expect(errors).toEqual([]);
});
