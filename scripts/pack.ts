/**
 * `npm run pack`: builds the package that people install, `dist/callboard-<version>.tgz`: bundles, the built board and the
 * licences of their contents. It has no dependencies, and its installation compiles and downloads nothing.
 * `-- --to FOLDER` writes it elsewhere; `--as-built` takes what `npm run build` has made, if it is of the current sources.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { isFresh } from '../tools/cli/bin/sources.js';
import { buildInto, builtPath, root } from './bundles.ts';
import { writePackageTypes } from './package-types.ts';

const LIMIT_BYTES = 4_300_000;
const Manifest = z.object({ name: z.string(), version: z.string(), license: z.string().default('') });
const Workspace = z.object({
  description: z.string(),
  license: z.string(),
  engines: z.object({ node: z.string() }),
});
const Built = z.object({ packages: z.array(z.string()), paths: z.array(z.string()) });
const Packed = z.tuple([z.object({ filename: z.string(), entryCount: z.int() })]);

const read = <T>(schema: z.ZodType<T>, folder: string): T =>
  schema.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));

/** Name, version and licence of each package, with its licence text. */
function licences(packages: readonly string[]): string {
  return packages
    .map((folder) => {
      const { name, version, license } = read(Manifest, folder);
      const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying|ofl)/i.test(entry));
      const text = file === undefined ? '' : `\n\n${readFileSync(join(folder, file), 'utf8').trim()}`;
      return `${name} ${version} (${license})${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** Copies the last build. @returns the packages in it; null if the sources have changed since, or it does not tell */
function copyBuild(folder: string): string[] | null {
  if (!isFresh(root) || !existsSync(builtPath)) return null;
  const { packages, paths } = Built.parse(JSON.parse(readFileSync(builtPath, 'utf8')));
  for (const path of paths) cpSync(join(root, path), join(folder, path), { recursive: true });
  return packages;
}

const { values } = parseArgs({
  options: { to: { type: 'string', default: join(root, 'dist') }, 'as-built': { type: 'boolean', default: false } },
});
const folder = mkdtempSync(join(tmpdir(), 'callboard-pack-'));
try {
  const packages = (values['as-built'] ? copyBuild(folder) : null) ?? (await buildInto(folder)).packages;
  const { name, version } = read(Manifest, join(root, 'tools', 'cli'));
  const { description, license, engines } = read(Workspace, root);
  const bin = { [name]: 'tools/cli/bin/callboard.js' };
  const exports = {
    '.': { types: './types/callboard.d.ts', default: './tools/orchestrator/dist/embed.js' },
    './client': { types: './types/client.d.ts', default: './tools/contract/dist/client.js' },
    './package.json': './package.json',
  };
  const manifest = { name, version, description, license, type: 'module', bin, exports, engines };
  await writePackageTypes(join(folder, 'types'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const path of ['README.md', 'CHANGELOG.md', 'LICENSE']) cpSync(join(root, path), join(folder, path));
  for (const path of ['bin/callboard.js', 'bin/sources.js', 'demo'])
    cpSync(join(root, 'tools/cli', path), join(folder, 'tools/cli', path), { recursive: true });
  // A browser that does not take Brotli gets the file itself: the second copy is not worth half a megabyte.
  for (const file of globSync('tools/web-server/dist/client/**/*.gz', { cwd: folder })) rmSync(join(folder, file));
  // Nothing reads them there, nor are the sources in the package. The bundles are not minified: a stack names our functions.
  for (const file of globSync('tools/*/dist/**/*.js.map', { cwd: folder })) rmSync(join(folder, file));
  writeFileSync(join(folder, 'LICENSES.txt'), licences(packages));

  const target = resolve(values.to);
  mkdirSync(target, { recursive: true });
  const { stdout, status } = spawnSync('npm', ['pack', '--json', '--pack-destination', target], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error('npm pack failed');
  const [{ filename, entryCount }] = Packed.parse(JSON.parse(stdout));
  const file = join(target, filename);
  const { size } = statSync(file);
  console.log(`${file}: ${(size / 1_000_000).toFixed(2)} MB, ${entryCount} files`);
  if (size > LIMIT_BYTES) throw new Error(`The package is larger than ${LIMIT_BYTES / 1_000_000} MB.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
