import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { install } from './support/callboard.ts';

/** The board as built for people: `npm run build` writes it. */
const BUILT = new URL('../tools/web-server/dist/client/', import.meta.url);
const LIMIT = 300_000;

const read = (path: string) => readFile(fileURLToPath(new URL(path, BUILT)));

/** All files that the first page waits for: those that `index.html` names, and the static imports of its scripts. */
async function firstFiles(): Promise<string[]> {
  const html = String(await read('index.html'));
  const waiting = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.(?:js|css))"/g)].map(([, path]) => String(path));
  const files = new Set(['index.html']);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files.has(path)) continue;
    files.add(path);
    if (!path.endsWith('.js')) continue;
    for (const [, name] of String(await read(path)).matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g))
      waiting.push(`assets/${name}`);
  }
  return [...files];
}

it('sends less than 300 kB in at most 20 requests from the login link to the board, and the rest of the page in few files', async () => {
  const { start } = await install({}, onTestFinished, true);
  const { loginLink, stop } = await start();
  onTestFinished(stop);
  const { page, context } = await openBrowser({}, onTestFinished);
  const network = await context.newCDPSession(page);
  const paths = new Map<string, string>();
  const sent: { path: string; bytes: number }[] = [];
  network.on('Network.requestWillBeSent', ({ requestId, request }) => {
    paths.set(requestId, new URL(request.url).pathname);
  });
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength: bytes }) => {
    if (bytes > 0) sent.push({ path: paths.get(requestId) ?? '', bytes }); // what comes from the cache has none
  });
  await network.send('Network.enable');
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor();
  await expect.poll(() => sent.some(({ path }) => path.includes('/board-forms-') && path.endsWith('.js'))).toBe(true);
  const first = sent.slice(0, sent.findIndex(({ path }) => path === '/api/board') + 1);
  expect(first.length).toBeGreaterThan(5);
  expect(first.length, JSON.stringify(first)).toBeLessThanOrEqual(20);
  // Text is shown before its font is there.
  const waitedFor = first.filter(({ path }) => !path.endsWith('.woff2'));
  expect(waitedFor.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(LIMIT);
  expect(sent.length, JSON.stringify(sent)).toBeLessThanOrEqual(40);
});

it('has a compressed copy of every script and style', async () => {
  for (const path of await firstFiles()) {
    const [plain, brotli] = await Promise.all([read(path), read(`${path}.br`).catch(() => null)]);
    if (plain.length > 1_000) expect([path, brotli !== null && brotli.length < plain.length]).toEqual([path, true]);
  }
});
