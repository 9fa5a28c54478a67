import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { callApi } from './support/api.ts';
import { openBrowser } from './support/browser.ts';
import { type Installation, install } from './support/callboard.ts';

const run = promisify(execFile);
const canMount = process.getuid?.() === 0;

/** An installation whose data directory is its own disk, unmounted after its processes end and before its folder is removed. */
async function installOnSmallDisk(): Promise<Installation> {
  const ends: (() => void | Promise<void>)[] = [];
  onTestFinished(async () => {
    for (const end of ends.toReversed()) await end();
  });
  const installation = await install({}, (end) => void ends.push(end));
  const { dataDir } = installation;
  await mkdir(dataDir, { mode: 0o700, recursive: true });
  await run('mount', ['-t', 'tmpfs', '-o', 'size=300m,mode=0700', 'callboard-test', dataDir]);
  ends.splice(1, 0, async () => void (await run('umount', [dataDir])));
  return installation;
}

it.runIf(canMount)('reports a nearly full disk, explains its refusals, and resumes automatically', async () => {
  const { start, dataDir, model } = await installOnSmallDisk();
  const { loginLink, origin, stop } = await start();
  onTestFinished(stop);
  const { page } = await openBrowser();
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor({ state: 'attached' });
  const create = async (title: string, text: string) => {
    const script = prompt({ steps: [{ gate: text, text }] }, `Work on ${title}`);
    const data = { projectId: 'shop', title, prompt: script };
    const response = await callApi(origin, 'POST', '/api/stages', data);
    return String((await response.json()).stage.id);
  };
  const working = await create('Search index', 'first');
  const waiting = await create('Price list', 'second');
  await page.goto(`${origin}/stages/${working}`);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await model.waitForRequest((request) => request.kind === 'script');

  const filler = join(dataDir, 'filler');
  await writeFile(filler, Buffer.alloc(150_000_000));
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('And the tests, please');
  await page.keyboard.press('Enter');
  const queue = page.getByRole('region', { name: 'Queued messages' });
  await queue.getByText('The disk is nearly full').waitFor();
  model.release('first');
  await page.getByText('Review').first().waitFor();
  expect(await queue.getByRole('listitem').count()).toBe(1);

  await page.goto(`${origin}/`);
  await page.getByText(/The disk is nearly full: [\d.]+ [MG]B are free/).waitFor();
  await page.goto(`${origin}/stages/${waiting}`);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page
    .getByText(/Callboard starts nothing and delivers no messages/)
    .first()
    .waitFor();

  await page.goto(`${origin}/`);
  const warning = page.getByText('The disk is nearly full');
  await warning.waitFor();
  await rm(filler);
  await warning.waitFor({ state: 'detached' });
  await page.goto(`${origin}/stages/${working}`);
  await expect.poll(() => queue.count()).toBe(0);
});
