import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type InputOptions, rolldown } from 'rolldown';
import { build, type Plugin } from 'vite';

/** The root of the repository. */
export const root = join(import.meta.dirname, '..');
/** What the last `npm run build` has written (`Built`). */
export const builtPath = join(root, 'tools', 'cli', 'dist', 'built.json');
const SAVED_MS = 7 * 24 * 60 * 60 * 1_000;

/** A program or a library: its package, its entry points, and the folder of its bundle. */
const PROGRAMS: readonly (readonly [tool: string, input: Record<string, string>, dist: string])[] = [
  ['cli', { main: 'src/main.ts', 'clean-up': 'src/demo/clean-up-main.ts' }, 'dist'],
  [
    'orchestrator',
    {
      main: '../cli/src/orchestrator.ts',
      embed: 'src/embed.ts',
      spawner: 'src/platform/spawner-main.ts',
      'search-worker': 'src/store/sqlite/search-worker.ts',
      'shared-search-worker': '../store-postgres/src/shared-search-worker.ts',
    },
    'dist',
  ],
  ['contract', { client: 'src/client/index.ts' }, 'dist'],
  ['web-server', { main: 'src/server/main.ts' }, 'dist/server'],
];

/** What a build has written. */
export interface Built {
  /** The folders of the third-party packages in it, sorted. */
  packages: string[];
  /** Its files and folders, relative to where it was written: a `dist` may hold older ones. */
  paths: string[];
}

/**
 * Bundles the programs and the client library, and builds the board.
 *
 * Running programs are not disturbed: each file is replaced atomically, and files that are no longer part of the bundle stay
 * for a week, since a process may still load them.
 * @param target receives them at the same paths as in the repository, for example `tools/cli/dist`
 */
export async function buildInto(target: string): Promise<Built> {
  const parts = await Promise.all(PROGRAMS.map(([tool, input, dist]) => bundle(tool, input, dist, target)));
  const dist = join('tools', 'web-server', 'dist');
  parts.push({ packages: await buildBoard(join(target, dist)), paths: [join(dist, 'client')] });
  const packages = new Set(parts.flatMap((part) => part.packages));
  return { packages: [...packages].sort(), paths: parts.flatMap(({ paths }) => paths) };
}

/** Readers see either the old file or the new one. */
export function place(path: string, content: string | Uint8Array): void {
  const part = `${path}.${process.pid}.part`;
  writeFileSync(part, content);
  renameSync(part, path);
}

async function bundle(tool: string, input: InputOptions['input'], into: string, target: string): Promise<Built> {
  const cwd = join(root, 'tools', tool);
  const dist = join(target, 'tools', tool, into);
  await using bundled = await rolldown({ cwd, input, platform: 'node', tsconfig: false });
  const { output } = await bundled.generate({
    format: 'esm',
    dir: join(cwd, into), // source maps are relative to it, also in the package
    sourcemap: true,
    sourcemapExcludeSources: true, // names and lines are enough for a stack
    comments: { jsdoc: false, legal: false }, // nobody reads a bundle; the package has the licences in a file
    charset: 'ascii', // with one other character, V8 keeps the whole file in twice the memory, as long as the program runs
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  mkdirSync(dist, { recursive: true });
  for (const file of output) place(join(dist, file.fileName), file.type === 'chunk' ? file.code : file.source);
  const names = new Set(output.map(({ fileName }) => fileName));
  for (const name of readdirSync(dist)) {
    const path = join(dist, name);
    if (/\.js(\.map)?$/.test(name) && !names.has(name) && Date.now() - statSync(path).mtimeMs > SAVED_MS) rmSync(path);
  }
  rmSync(join(dist, 'compile-cache'), { recursive: true, force: true }); // of the files that were replaced
  return {
    packages: packagesOf(output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))),
    paths: [...names].map((name) => join('tools', tool, into, name)),
  };
}

async function buildBoard(dist: string): Promise<string[]> {
  const folder = join(root, 'tools', 'web-server');
  const inDist = (name: string) => join(dist, name);
  const [fresh, old] = [inDist(`client.${process.pid}.new`), inDist(`client.${process.pid}.old`)];
  const inWorkers = new Set<string>();
  const built = await build({
    root: folder,
    logLevel: 'warn',
    build: { outDir: fresh, chunkSizeWarningLimit: 1_000 },
    worker: { format: 'es', plugins: () => [collectModules(inWorkers)] },
  });
  const worker = await build({
    root: folder,
    configFile: join(folder, 'vite.worker.config.ts'),
    logLevel: 'warn',
    build: { outDir: fresh },
  });
  if (existsSync(inDist('client'))) renameSync(inDist('client'), old);
  renameSync(fresh, inDist('client'));
  rmSync(old, { recursive: true, force: true });
  const output = [built, worker].flat().flatMap((one) => ('output' in one ? one.output : []));
  const sources = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : file.originalFileNames));
  return packagesOf([...sources.map((path) => resolve(folder, path)), ...inWorkers]);
}

/** A worker is a bundle of its own, and the board's tells nothing about what is in it. */
const collectModules = (modules: Set<string>): Plugin => ({
  name: 'collect-modules',
  generateBundle(_, output) {
    for (const file of Object.values(output))
      if (file.type === 'chunk') for (const id of file.moduleIds) modules.add(id);
  },
});

/** Returns the folders of the third-party packages that modules come from. */
function packagesOf(modules: readonly string[]): string[] {
  const inside = modules.flatMap((module) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+\//.exec(module) ?? []);
  return inside.map((folder) => join(dirname(folder), folder.split('/').at(-2) ?? ''));
}
