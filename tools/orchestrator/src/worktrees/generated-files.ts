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

/** The exit code of `git grep`; a failure has another one. */
const FOUND_NOTHING = 1;

/** How many answers about base commits are kept. */
const MAX_BASES = 500;

export interface GeneratedFiles {
  /**
   * Returns the paths that a program has made: lock files and minified ones by their names, others by `linguist-generated` in
   * the attributes of the base commit. Attributes of the branch do not count: they could fold away what should be read.
   */
  among(git: Git, checkout: string, base: string, changes: readonly TreeChange[]): Promise<ReadonlySet<string>>;
}

/** Remembers which commits mark no file, which most do and which takes git a look at every folder. */
export function createGeneratedFiles(): GeneratedFiles {
  const unmarked = new Set<string>();

  async function marksAny(git: Git, checkout: string, base: string): Promise<boolean> {
    if (unmarked.has(base)) return false;
    const reported = [
      'grep',
      '--quiet',
      '--fixed-strings',
      'linguist-generated',
      base,
      '--',
      ':(glob)**/.gitattributes',
    ];
    const { failed, exitCode } = await git.try(checkout, reported, { GIT_NO_REPLACE_OBJECTS: '1' });
    if (exitCode === FOUND_NOTHING) unmarked.add(base);
    if (unmarked.size > MAX_BASES) unmarked.delete(unmarked.values().next().value ?? '');
    return !failed;
  }

  return {
    async among(git, checkout, base, changes) {
      const byName = changes.filter(({ path }) => LOCK_FILES.has(basename(path)) || MADE.test(path));
      const others = changes.filter((change) => !byName.includes(change)).map(({ path }) => path);
      const isAsked = others.length > 0 && (await marksAny(git, checkout, base));
      const marked = isAsked ? await markedAsGenerated(git, checkout, base, others) : [];
      return new Set([...byName.map(({ path }) => path), ...marked]);
    },
  };
}

async function markedAsGenerated(git: Git, checkout: string, base: string, paths: string[]): Promise<string[]> {
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
