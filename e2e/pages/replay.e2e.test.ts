import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openTestBoard } from '../support/test-board.ts';

it('plays a finished stage as a film, and saves it as a video', async () => {
  const { page, api, errors, origin } = await openTestBoard();
  const edit = { tools: [{ name: 'Bash', input: { command: 'touch allowed.txt' } }] };
  const stageId = await api.stage('Login form', [edit, { text: 'All finished.' }]);
  await api.start(stageId);
  await page.getByRole('dialog', { name: /^Login form:/ }).waitFor();
  await page.keyboard.press('Escape');
  await page
    .getByRole('region', { name: 'Needs you' })
    .getByRole('button', { name: /^Allow/ })
    .click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();

  await page.goto(`${origin}/stages/${stageId}/replay`);
  const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem');
  await expect.poll(() => steps.allTextContents()).toHaveLength(4);
  expect(await steps.nth(1).textContent()).toMatch(/Bash touch allowed\.txt Allowed by .+ after/);
  const [video] = await Promise.all([
    page.waitForEvent('download', { timeout: 60_000 }),
    page.getByRole('button', { name: 'Save as video' }).click(),
  ]);
  expect(video.suggestedFilename()).toMatch(new RegExp(`^${stageId}\\.(mp4|webm)$`));
  const file = await readFile(await video.path());
  const isMp4 = file.subarray(4, 8).toString() === 'ftyp';
  const isWebm = file.readUInt32BE(0) === 0x1a45dfa3;
  expect([isMp4, isWebm]).toContain(true);
  expect(file.length).toBeGreaterThan(20_000);
  expect(errors).toEqual([]);
});
