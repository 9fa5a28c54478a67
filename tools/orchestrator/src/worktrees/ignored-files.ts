import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, join, matchesGlob } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Project, SavedFile } from '@callboard/contract';
import type { Git } from './git/git.ts';
import { initializedSubmodules } from './submodules.ts';

/** Usual names of dependency and build folders. They count only if git ignores them. */
const BUILD_FOLDERS: ReadonlySet<string> = new Set([
  ...[
    'node_modules',
    'bower_components',
    '.yarn',
    '.pnpm-store',
    'dist',
    'build',
    'out',
    'coverage',
    'storybook-static',
  ],
  ...['.next', '.nuxt', '.svelte-kit', '.angular', '.turbo', '.parcel-cache', '.vite', '.cache', '.output', '.astro'],
  ...['.venv', 'venv', '__pycache__', '.pytest_cache', '.mypy_cache', '.ruff_cache', '.tox', '.nox', '.eggs'],
  ...[
    'target',
    '.gradle',
    'vendor',
    'Pods',
    '.dart_tool',
    '.terraform',
    '_build',
    'deps',
    'obj',
    'zig-cache',
    '.zig-cache',
  ],
  ...['.stack-work', 'dist-newstyle', 'DerivedData', '.build'],
]);

/** The files that git ignores in a worktree, without unchanged copies that Callboard made. */
export interface IgnoredFiles {
  files: SavedFile[];
  buildFolders: SavedFile[];
}

/** Lists the ignored files of a worktree. @throws OperationalError `worktree_failed`; a system error */
export async function ignoredFiles(git: Git, project: Project, worktree: string): Promise<IgnoredFiles> {
  const found: IgnoredFiles = { files: [], buildFolders: [] };
  for (const folder of ['', ...(await initializedSubmodules(git, worktree))]) {
    const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
    const list = await git.must(join(worktree, folder), args);
    for (const path of outermost(list.split('\0'))) await collect(worktree, join(folder, path), found);
  }
  const saved = await Promise.all(found.files.map(async (file) => !(await isCopiedIn(project, worktree, file))));
  return { ...found, files: found.files.filter((_file, index) => saved[index]) };
}

/** Drops paths inside listed folders: git lists a fully ignored folder and then its contents as well. */
function outermost(paths: readonly string[]): string[] {
  const result: string[] = [];
  for (const path of paths.toSorted()) {
    const last = result.at(-1);
    if (path !== '' && !(last?.endsWith('/') && path.startsWith(last))) result.push(path);
  }
  return result;
}

/** Counts links as files and does not follow them; skips sockets and other special files. */
async function collect(worktree: string, given: string, found: IgnoredFiles): Promise<void> {
  const path = given.replace(/\/$/, '');
  const info = await lstat(join(worktree, path));
  if (info.isFile() || info.isSymbolicLink()) found.files.push({ path, bytes: info.size });
  if (!info.isDirectory()) return;
  if (BUILD_FOLDERS.has(basename(path))) {
    found.buildFolders.push({ path, bytes: await sizeOf(join(worktree, path)) });
    return;
  }
  for (const name of await readdir(join(worktree, path))) await collect(worktree, join(path, name), found);
}

/** How many files are read at once. */
const AT_ONCE = 64;

/** Returns the sum of the sizes of all files below a folder. @throws a system error */
export async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  let bytes = 0;
  for (let start = 0; start < files.length; start += AT_ONCE) {
    const infos = await Promise.all(files.slice(start, start + AT_ONCE).map((file) => lstat(file)));
    for (const { size } of infos) bytes += size;
  }
  return bytes;
}

/** Whether Callboard copied the file and both copies are still equal, byte for byte. */
async function isCopiedIn({ path: main, settings }: Project, worktree: string, file: SavedFile): Promise<boolean> {
  if (!settings.copyIgnored.some((glob) => matchesGlob(file.path, glob))) return false;
  const original = await lstat(join(main, file.path)).catch(() => null);
  if (original?.isFile() !== true || original.size !== file.bytes) return false;
  const [one, other] = await Promise.all([hashOf(join(main, file.path)), hashOf(join(worktree, file.path))]);
  return one === other;
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
