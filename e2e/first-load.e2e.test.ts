import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

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

/** What is sent of a file: its compressed copy, if the build has written one. */
const sent = (path: string) => read(`${path}.br`).catch(() => read(path));

it('sends less than 300 kB of page, styles and scripts before the board is shown', async () => {
  const files = await firstFiles();
  expect(files.filter((path) => path.endsWith('.js')).length).toBeGreaterThan(0);
  expect(files.filter((path) => path.endsWith('.css')).length).toBeGreaterThan(0);
  const sizes = await Promise.all(files.map(async (path) => (await sent(path)).length));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(LIMIT);
});

it('has a compressed copy of every script and style', async () => {
  for (const path of await firstFiles()) {
    const [plain, brotli] = await Promise.all([read(path), read(`${path}.br`).catch(() => null)]);
    if (plain.length > 1_000) expect([path, brotli !== null && brotli.length < plain.length]).toEqual([path, true]);
  }
});
