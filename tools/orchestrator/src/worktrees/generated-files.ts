import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Git } from './git/git.ts';
import type { TreeChange } from './tree-changes.ts';

const LOCK_FILES: ReadonlySet<string> = new Set([
  ...['package-lock.json', 'npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb', 'deno.lock'],
  ...['Cargo.lock', 'go.sum', 'Gemfile.lock', 'composer.lock', 'poetry.lock', 'uv.lock', 'pdm.lock', 'Pipfile.lock'],
  ...['flake.lock', 'mix.lock', 'pubspec.lock', 'Podfile.lock', 'Package.resolved', 'packages.lock.json'],
]);
const MADE = /\.(?:min\.(?:js|css|mjs)|(?:js|css|mjs)\.map|snap)$/;

/** The limit of paths in one call of git, since command lines are limited in length. */
const PATHS_PER_CALL = 500;

/**
 * Returns the paths that a program has made: lock files and minified ones by their names, others by `linguist-generated` in
 * the attributes of the base commit. Attributes of the branch do not count: they could fold away what should be read.
 */
export async function generatedOf(
  git: Git,
  checkout: string,
  base: string,
  changes: readonly TreeChange[],
): Promise<ReadonlySet<string>> {
  const byName = changes.filter(({ path }) => LOCK_FILES.has(basename(path)) || MADE.test(path));
  const others = changes.filter((change) => !byName.includes(change)).map(({ path }) => path);
  return new Set([...byName.map(({ path }) => path), ...(await markedAsGenerated(git, checkout, base, others))]);
}

async function markedAsGenerated(git: Git, checkout: string, base: string, paths: string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const told = ['grep', '--quiet', '--fixed-strings', 'linguist-generated', base, '--', ':(glob)**/.gitattributes'];
  if ((await git.try(checkout, told)).failed) return [];
  const folder = await mkdtemp(join(tmpdir(), 'callboard-index-'));
  try {
    const env = { GIT_INDEX_FILE: join(folder, 'index'), LC_ALL: 'C' };
    if ((await git.try(checkout, ['read-tree', base], env)).failed) return [];
    const found: string[] = [];
    for (let at = 0; at < paths.length; at += PATHS_PER_CALL) {
      const ask = ['check-attr', '--cached', '-z', 'linguist-generated', '--', ...paths.slice(at, at + PATHS_PER_CALL)];
      const fields = (await git.try(checkout, ask, env)).stdout.split('\0');
      for (let n = 0; n + 2 < fields.length; n += 3)
        if (['set', 'true'].includes(fields[n + 2] ?? '')) found.push(fields[n] ?? '');
    }
    return found;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
