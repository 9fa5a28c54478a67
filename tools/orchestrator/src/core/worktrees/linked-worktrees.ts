import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, lstat, readdir, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join, matchesGlob, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Project, ProjectId, SavedFile, StageId, Worktree } from '@callboard/contract';
import type { KeyedMutex } from '../../lib/async.ts';
import { pathExists } from '../../platform/files.ts';
import type { Git } from '../../platform/git/git.ts';
import { nestedRepositories } from '../../platform/git/run-git.ts';

/** A checkout of a repository: the main one, or a worktree. */
export interface Checkout {
  path: string;
  /** The commit that it is at. */
  commit: string;
  /** Null if it is on none. */
  branch: string | null;
}

/** Looks at checkouts that people made, and takes their files over. */
export interface Checkouts {
  /** Lists the checkouts of the repository that still exist, the main one first. @throws OperationalError `worktree_failed` */
  checkouts(project: Pick<Project, 'path'>): Promise<Checkout[]>;
  /** Counts the files with uncommitted changes in a checkout, new ones included. @throws OperationalError `worktree_failed` */
  countUncommitted(path: string): Promise<number>;
  /**
   * Gives a worktree in which nobody has worked yet the files of a tree, as uncommitted changes. May be repeated.
   * @throws OperationalError `worktree_failed`
   */
  fill(worktree: Pick<Worktree, 'path'>, tree: string): Promise<void>;
  /** Removes a ref; it need not exist. @throws OperationalError `worktree_failed` */
  dropRef(project: Pick<Project, 'path'>, ref: string): Promise<void>;
}

export const checkouts = (git: Git): Checkouts => ({
  checkouts: (project) => checkoutsOf(git, project.path),
  countUncommitted: (path) => countUncommitted(git, path),
  fill: (worktree, tree) => fillWorktree(git, worktree.path, tree),
  dropRef: async (project, ref) => void (await git.must(project.path, ['update-ref', '-d', ref])),
});

async function checkoutsOf(git: Git, repository: string): Promise<Checkout[]> {
  const list = await git.must(repository, ['worktree', 'list', '--porcelain']);
  return list.split('\n\n').flatMap((entry): Checkout[] => {
    const fields = new Map(
      entry.split('\n').map((line): [string, string] => {
        const [name = '', ...rest] = line.split(' ');
        return [name, rest.join(' ')];
      }),
    );
    const [path, commit] = [fields.get('worktree'), fields.get('HEAD')];
    if (path === undefined || commit === undefined || fields.has('prunable')) return [];
    return [{ path, commit, branch: fields.get('branch')?.replace(/^refs\/heads\//, '') ?? null }];
  });
}

/** As `Checkouts.countUncommitted`. */
export async function countUncommitted(git: Git, path: string): Promise<number> {
  const list = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=all'];
  return (await git.must(path, list)).split('\0').filter((line) => line !== '').length;
}

/** Overwrites what differs. The index goes back to the commit, so that the files stand as uncommitted changes. */
export async function fillWorktree(git: Git, path: string, tree: string): Promise<void> {
  await git.must(path, ['read-tree', '--reset', '-u', tree]);
  await git.must(path, ['reset', '--mixed', '--quiet']);
}

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

/**
 * Returns the folders of nested repositories with a checkout, relative to the worktree, at any depth. We call git in each
 * ourselves; otherwise git would run itself there with a configuration that nobody has checked.
 */
export async function initializedSubmodules(git: Git, worktree: string): Promise<string[]> {
  const staged = await git.must(worktree, ['ls-files', '--stage', '-z']);
  const found: string[] = [];
  for (const path of nestedRepositories(staged).keys()) {
    if (!(await pathExists(join(worktree, path, '.git')))) continue;
    const nested = await initializedSubmodules(git, join(worktree, path));
    found.push(path, ...nested.map((other) => join(path, other)));
  }
  return found;
}

/**
 * Checks out the submodules of a new worktree if the project wants that, which fetches from the repository's URLs.
 * @returns a notice for people that their folders are empty, and why; null if there is nothing to say
 */
export async function prepareSubmodules(git: Git, worktree: string, isWanted: boolean): Promise<string | null> {
  if (!(await pathExists(join(worktree, '.gitmodules')))) return null;
  if (!isWanted) {
    return 'This repository has submodules. Their folders are empty in this worktree. To check them out in new worktrees, switch on "Check out submodules" in the project\'s settings, or run "git submodule update --init" in the worktree.';
  }
  const updated = await git.try(worktree, ['submodule', 'update', '--init', '--recursive']);
  if (!updated.failed) return null;
  return `The submodules could not be checked out, so their folders may be empty: ${updated.stderr.trim()}`;
}

/** Returns the submodules with commits that no remote has: those exist only in this worktree and would be lost with it. */
export async function unpushedSubmodules(git: Git, worktree: string): Promise<string[]> {
  const unpushed: string[] = [];
  for (const path of await initializedSubmodules(git, worktree)) {
    const own = await git.try(join(worktree, path), [
      'log',
      '--oneline',
      '-1',
      'HEAD',
      '--branches',
      '--not',
      '--remotes',
    ]);
    if (own.failed || own.stdout.trim() !== '') unpushed.push(path);
  }
  return unpushed;
}

/** A worktree of the repository in the folder of another one, and what only it has, for people. */
interface InnerWork {
  path: string;
  what: string;
}

/**
 * Returns a worktree in this one with work that would be lost with its folder; null if there is none. Claude Code makes such
 * worktrees (`.claude/worktrees`, usually ignored) for subagents, and so does Claude itself.
 * @throws OperationalError `worktree_failed`
 */
export async function innerWork(git: Git, repository: string, path: string): Promise<InnerWork | null> {
  const entries = await listWorktrees(git, repository);
  const inner = entries.flatMap(([first = '']) => (first.startsWith(`worktree ${path}/`) ? [first.slice(9)] : []));
  for (const folder of inner) {
    const what = (await pathExists(folder)) ? await onlyIn(git, repository, folder) : null;
    if (what !== null) return { path: relative(path, folder), what };
  }
  return null;
}

async function onlyIn(git: Git, repository: string, folder: string): Promise<string | null> {
  const status = await git.try(folder, ['status', '--porcelain', '--untracked-files=normal']);
  if (status.failed) return `cannot be read by git (${status.stderr.trim()})`;
  if (status.stdout !== '') return 'has uncommitted changes';
  const head = await git.try(folder, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (head.failed) return null; // nothing was ever committed there
  const refs = ['for-each-ref', '--count=1', '--format=%(refname)', '--contains', head.stdout.trim()];
  return (await git.must(repository, refs)) === '' ? 'has commits that are on no branch' : null;
}

/** Git marks a worktree while it creates it; the mark stays if git is killed meanwhile (git 2.17 and newer). */
export const INITIALIZING = 'initializing';

/** What git knows about a worktree. `incomplete`: its creation was interrupted, so nobody has worked in it yet. */
export type WorktreeStatus = 'complete' | 'incomplete' | 'unknown';

/** Returns the lines of `git worktree list --porcelain`, by worktree. @throws OperationalError `worktree_failed` */
export async function listWorktrees(git: Git, repository: string): Promise<string[][]> {
  const list = await git.must(repository, ['worktree', 'list', '--porcelain']);
  return list.split('\n\n').map((entry) => entry.split('\n'));
}

/** Returns what git knows about a worktree. @throws OperationalError `worktree_failed` */
export async function worktreeStatus(git: Git, repository: string, path: string): Promise<WorktreeStatus> {
  return statusIn(await listWorktrees(git, repository), path);
}

/** As `worktreeStatus`, by a list that was read before. */
export function statusIn(entries: readonly string[][], path: string): WorktreeStatus {
  const found = entryOf(entries, path);
  if (found === null) return 'unknown';
  return found.includes(`locked ${INITIALIZING}`) ? 'incomplete' : 'complete';
}

/** Returns the lines of `git worktree list --porcelain` for a worktree; null if there are none. @throws OperationalError `worktree_failed` */
export async function worktreeEntry(git: Git, repository: string, path: string): Promise<string[] | null> {
  return entryOf(await listWorktrees(git, repository), path);
}

const entryOf = (entries: readonly string[][], path: string): string[] | null =>
  entries.find((lines) => lines.includes(`worktree ${path}`)) ?? null;

/** Whether the branch is checked out anywhere but at `path`: in the main checkout, or by another Callboard. */
export const isCheckedOutElsewhere = (
  entries: readonly string[][],
  { path, branch }: Pick<Worktree, 'path' | 'branch'>,
): boolean =>
  entries.some((lines) => lines.includes(`branch refs/heads/${branch}`) && !lines.includes(`worktree ${path}`));

/** Removes an incomplete worktree; the branch stays. @throws OperationalError `worktree_failed` */
export async function removeIncomplete(git: Git, repository: string, path: string): Promise<void> {
  const isBroken = await access(`${path}/.git`).then(
    () => false,
    () => true,
  );
  // Removes the mark last, so that an interrupted removal finds it again.
  if (!isBroken) return void (await git.must(repository, ['worktree', 'remove', '--force', '--force', path]));
  // Without its `.git` file git does not recognise the folder as a worktree, and would leave it.
  await rm(path, { recursive: true, force: true });
  await git.must(repository, ['worktree', 'unlock', path]);
  await git.must(repository, ['worktree', 'prune']);
}

/** A stage whose start was cut off, and the repository in which it was to work. */
export interface CutOffStart {
  repository: string;
  projectId: ProjectId;
  stageId: StageId;
}

export interface AbandonedWorktrees {
  /**
   * Returns the worktrees under the names that a start would choose for the stage, also those that the stage knows. Removes one
   * that git had not completed: nobody has worked in it. A repository that is gone has none.
   * @throws OperationalError `worktree_failed`
   */
  findAbandonedWorktrees(start: CutOffStart): Promise<Worktree[]>;
}

export const findAbandonedWorktrees = ({
  git,
  dataDir,
  makings,
}: {
  git: Git;
  dataDir: string;
  makings: KeyedMutex;
}) => ({
  findAbandonedWorktrees: (start: CutOffStart) => makings(start.repository, () => findLeft(git, dataDir, start)),
});

async function findLeft(
  git: Git,
  dataDir: string,
  { repository, projectId, stageId }: CutOffStart,
): Promise<Worktree[]> {
  const folder = await realpath(join(dataDir, 'worktrees', projectId)).catch(() => null);
  if (folder === null || !(await pathExists(repository))) return [];
  const entries = await listWorktrees(git, repository);
  const found: Worktree[] = [];
  for (const lines of entries) {
    const path = fieldOf(lines, 'worktree');
    if (path === null || dirname(path) !== folder || !isNameOf(stageId, basename(path))) continue;
    const [branch, head] = [fieldOf(lines, 'branch'), fieldOf(lines, 'HEAD')];
    if (statusIn(entries, path) === 'incomplete') await removeIncomplete(git, repository, path);
    else if (branch !== null && head !== null && (await pathExists(path)))
      found.push({ path, branch: branch.replace('refs/heads/', ''), base: head });
  }
  return found;
}

/** Returns the commit that a worktree is at; null if git does not list it. */
export function headIn(entries: readonly string[][], path: string): string | null {
  const found = entryOf(entries, path);
  return found === null ? null : fieldOf(found, 'HEAD');
}

/** Returns the value of a line of `git worktree list --porcelain`; null if there is none. */
const fieldOf = (lines: readonly string[], key: string): string | null =>
  lines.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1) ?? null;

const isNameOf = (stageId: StageId, name: string): boolean =>
  name === stageId || (name.startsWith(`${stageId}-`) && /^\d+$/.test(name.slice(stageId.length + 1)));
