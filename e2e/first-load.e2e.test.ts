import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

/** The board as built for people: `npm run build` writes it. */
const BUILT = new URL('../tools/web-server/dist/client/', import.meta.url);
const LIMIT = 300_000;

const read = (path: string) => readFile(fileURLToPath(new URL(path, BUILT)));

/** All scripts that the first page waits for: those that `index.html` names, and their static imports. */
async function firstScripts(): Promise<Map<string, Buffer>> {
  const html = String(await read('index.html'));
  const waiting = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, path]) => String(path));
  const scripts = new Map<string, Buffer>();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (scripts.has(path)) continue;
    const script = await read(path);
    scripts.set(path, script);
    for (const [, name] of String(script).matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g))
      waiting.push(`assets/${name}`);
  }
  return scripts;
}

it('loads less than 300 kB of script before the board is shown', async () => {
  const scripts = await firstScripts();
  expect(scripts.size).toBeGreaterThan(0);
  const size = [...scripts.values()].reduce((sum, script) => sum + gzipSync(script).length, 0);
  expect(size).toBeLessThan(LIMIT);
});
