import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { expect, it, onTestFinished, vi } from 'vitest';

const LIMIT = 300_000;

/** All scripts that the first page waits for: those that `index.html` names, and what they import statically. */
async function firstScripts(folder: string): Promise<Map<string, Buffer>> {
  const html = await readFile(join(folder, 'index.html'), 'utf8');
  const waiting = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, path]) => String(path));
  const scripts = new Map<string, Buffer>();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (scripts.has(path)) continue;
    const script = await readFile(join(folder, path));
    scripts.set(path, script);
    for (const [, name] of String(script).matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g))
      waiting.push(`assets/${name}`);
  }
  return scripts;
}

it('loads less than 300 kB of script before the board stands', async () => {
  const outDir = await mkdtemp(join(tmpdir(), 'callboard-first-load-'));
  onTestFinished(() => rm(outDir, { recursive: true, force: true }));
  vi.stubEnv('NODE_ENV', 'production'); // as users get it
  onTestFinished(() => void vi.unstubAllEnvs());
  const root = resolve(import.meta.dirname, '../..');
  await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'error', build: { outDir } });
  const scripts = await firstScripts(outDir);
  expect(scripts.size).toBeGreaterThan(0);
  const size = [...scripts.values()].reduce((sum, script) => sum + gzipSync(script).length, 0);
  expect(size).toBeLessThan(LIMIT);
});
