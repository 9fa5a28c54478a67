/** Writes a clip of some ten seconds of the board at work, for the README: `npm run clip -- <file.webp>`. Needs `ffmpeg`. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { closeBrowsers, openBrowser } from '../../../e2e/support/browser.ts';
import { install } from '../../../e2e/support/callboard.ts';
import { makeScene } from '../../../e2e/support/scene.ts';

const [target] = process.argv.slice(2);
if (target === undefined) {
  console.error('Usage: npm run clip -- <file.webp>');
  process.exit(2);
}
const SIZE = { width: 1280, height: 800 };
const SHOWN = { width: 960, perSecond: 12 };

const ends: (() => void | Promise<void>)[] = [];
const atEnd = (end: () => void | Promise<void>) => void ends.unshift(end);

/** Records what a page shows during `act`. Chromium sends a picture whenever something has changed. */
async function record(page: Page, folder: string, act: () => Promise<void>): Promise<string> {
  const devtools = await page.context().newCDPSession(page);
  const pictures: { file: string; at: number }[] = [];
  const writing: Promise<void>[] = [];
  devtools.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    const file = join(folder, `${pictures.length}.png`);
    pictures.push({ file, at: metadata.timestamp ?? 0 });
    writing.push(writeFile(file, Buffer.from(data, 'base64')));
    void devtools.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined);
  });
  await devtools.send('Page.startScreencast', { format: 'png', maxWidth: SIZE.width, maxHeight: SIZE.height });
  await act();
  const end = Date.now() / 1_000;
  await devtools.send('Page.stopScreencast');
  await Promise.all(writing);
  const lines = pictures.flatMap(({ file, at }, index) => [
    `file '${file}'`,
    `duration ${Math.max(0.01, (pictures[index + 1]?.at ?? end) - at).toFixed(3)}`,
  ]);
  const list = join(folder, 'pictures.txt');
  await writeFile(list, `${lines.join('\n')}\nfile '${pictures.at(-1)?.file}'\n`);
  return list;
}

function encode(list: string, file: string): void {
  const filter = `fps=${SHOWN.perSecond},scale=${SHOWN.width}:-1:flags=lanczos`;
  const picture = ['-vf', filter, '-c:v', 'libwebp_anim', '-lossless', '0', '-q:v', '85', '-loop', '0'];
  const args = ['-y', '-loglevel', 'error', '-f', 'concat', '-safe', '0', '-i', list, ...picture, file];
  const { status, error } = spawnSync('ffmpeg', args, { stdio: 'inherit' });
  if (error !== undefined) throw new Error('ffmpeg is missing. Install it (Debian: apt-get install ffmpeg).');
  if (status !== 0) throw new Error(`ffmpeg ended with ${status}`);
}

try {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-clip-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const { start, model } = await install({}, atEnd);
  const { loginLink, origin, stop } = await start();
  atEnd(stop);
  atEnd(closeBrowsers);
  const { page } = await openBrowser(SIZE, atEnd);
  await page.emulateMedia({ colorScheme: 'dark' });
  await makeScene(origin, model);
  await page.goto(loginLink);
  const request = page.getByRole('dialog').first();
  await request.waitFor();
  const list = await record(page, folder, async () => {
    await sleep(1_800);
    await request.getByRole('button', { name: 'Deny', exact: true }).click(); // it would reach the network
    await sleep(1_500);
    await request.getByRole('button', { name: 'Allow', exact: true }).click();
    await sleep(1_200);
    await page.keyboard.press('Escape'); // the others later: the board itself
    await sleep(1_800);
    await page.getByRole('link', { name: 'Dark mode' }).click();
    await sleep(1_200);
    await page.getByRole('link', { name: /^Changes/ }).click();
    await sleep(1_800);
    await page.getByRole('button', { name: 'Finish', exact: true }).click();
    await sleep(1_800);
  });
  encode(list, resolve(target));
} finally {
  for (const end of ends) await end();
}
