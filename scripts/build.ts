/**
 * `npm run build`: bundles the three programs and builds the board, into the `dist` of their packages.
 *
 * Programs that run go on meanwhile: each file is put into place whole, and one that no longer belongs to the
 * bundle stays for a week, since a process may still load it.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type InputOptions, rolldown } from 'rolldown';
import { build } from 'vite';
import { builtFrom, fingerprint } from '../tools/cli/bin/sources.js';

const root = join(import.meta.dirname, '..');
const KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

/** A program: its package, what it is entered by, and where its bundle goes. */
const PROGRAMS: readonly (readonly [tool: string, input: Record<string, string>, dist: string])[] = [
  ['cli', { main: 'src/main.ts', 'clear-up': 'src/demo/clear-up-main.ts' }, 'dist'],
  ['orchestrator', { main: 'src/main.ts' }, 'dist'],
  ['web-server', { main: 'src/server/main.ts' }, 'dist/server'],
];

async function bundle(cwd: string, input: InputOptions['input'], dist: string): Promise<void> {
  await using bundled = await rolldown({ cwd, input, platform: 'node', tsconfig: false });
  const { output } = await bundled.generate({
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  mkdirSync(dist, { recursive: true });
  for (const file of output) place(join(dist, file.fileName), file.type === 'chunk' ? file.code : file.source);
  const names = new Set(output.map(({ fileName }) => fileName));
  for (const name of readdirSync(dist)) {
    const path = join(dist, name);
    if (/\.js(\.map)?$/.test(name) && !names.has(name) && Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path);
  }
}

/** Whoever reads it meanwhile sees the old one or the new one. */
function place(path: string, content: string | Uint8Array): void {
  const part = `${path}.${process.pid}.part`;
  writeFileSync(part, content);
  renameSync(part, path);
}

async function buildBoard(): Promise<void> {
  const folder = join(root, 'tools', 'web-server');
  const inDist = (name: string) => join(folder, 'dist', name);
  const [fresh, old] = [inDist(`client.${process.pid}.new`), inDist(`client.${process.pid}.old`)];
  await build({ root: folder, logLevel: 'warn', build: { outDir: fresh, chunkSizeWarningLimit: 1_000 } });
  if (existsSync(inDist('client'))) renameSync(inDist('client'), old);
  renameSync(fresh, inDist('client'));
  rmSync(old, { recursive: true, force: true });
}

const before = fingerprint(root);
await Promise.all(
  PROGRAMS.map(([tool, input, dist]) => {
    const folder = join(root, 'tools', tool);
    return bundle(folder, input, join(folder, dist));
  }),
);
await buildBoard();
place(builtFrom(root), before);
