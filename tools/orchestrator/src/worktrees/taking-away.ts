import { lstat, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { NotSaved, Project, SavedFile, Worktree } from '@callboard/contract';
import { OperationalError } from '../lib/errors.ts';
import type { KeyedMutex } from '../lib/keyed-mutex.ts';
import { pathExists } from '../lib/path-exists.ts';
import { countUncommitted } from './checkouts.ts';
import { nestedRepositories } from './git/command-line.ts';
import type { Git } from './git/git.ts';
import { gitFailure } from './git/git-cause.ts';
import { ignoredFiles, sizeOf } from './ignored-files.ts';
import { earlierCommits, leftOutOf, type SavedWorktree, type SaveOrder, saveWorktree } from './keep-worktree.ts';
import { isIn } from './recorded-merges.ts';
import { stays, stuckReason } from './remove-worktree.ts';
import { takeSnapshot } from './snapshot.ts';
import { initializedSubmodules, unpushedSubmodules } from './submodules.ts';
import { removeIncomplete, worktreeStatus } from './worktree-list.ts';

/** A worktree, and the repository that it belongs to. */
export interface WorktreeLocation {
  repository: string;
  path: string;
}

/** What a worktree has that no commit of its repository's main branch has. */
export interface OpenWork {
  head: string;
  /** Null while it is on no branch. */
  branch: string | null;
  uncommitted: number;
  /** Commits that are not in the main checkout's branch. */
  unmerged: number;
  /** Further commits that only the reflog of the worktree has. */
  earlier: number;
}

/** What a worktree has beside what a commit of its files can keep. */
export interface FilesBeside {
  /** Ignored files, files above 50 MB and nested repositories. */
  files: SavedFile[];
  /** Dependency and build folders, which a tool can recreate. */
  buildFolders: SavedFile[];
}

/** Where the files of a kept worktree go. */
export interface PutBackOrder extends WorktreeLocation {
  commit: string;
  /** The branch of a new worktree. */
  branch: string;
  /** The branch that gets the earlier commits, if some were kept. */
  earlierBranch: string;
}

/** Takes a worktree away without losing what is in it, and puts it back. */
export interface WorktreeRemoval {
  /**
   * Keeps the files of a worktree, tracked and untracked ones, as a commit on a ref of its repository, without touching the
   * worktree, its index or its branch. Resolves when both are on the disk.
   * @throws OperationalError `worktree_failed`; the ref is as it was then
   */
  save(worktree: Pick<Worktree, 'path'>, order: SaveOrder): Promise<SavedWorktree>;
  /** Returns what `keep` would leave out now. Stores nothing. @throws OperationalError `worktree_failed` */
  leftOut(worktree: Pick<Worktree, 'path'>): Promise<NotSaved[]>;
  /** Returns why the worktree has to stay where it is, for people; null if it may be taken away. @throws OperationalError `worktree_failed` */
  stayReason(checkout: WorktreeLocation): Promise<string | null>;
  /** @throws OperationalError `worktree_failed` */
  openWork(checkout: WorktreeLocation): Promise<OpenWork>;
  /** Unchanged copies that Callboard made do not count. @throws OperationalError `worktree_failed`; a system error */
  filesBeside(project: Project, path: string): Promise<FilesBeside>;
  /** Makes git forget a worktree whose folder is gone; its branch stays. @throws OperationalError `worktree_failed` */
  forget(checkout: WorktreeLocation): Promise<void>;
  /** Removes a ref if it still points at the commit. A repository or ref that is gone is no error. @throws OperationalError `worktree_failed` */
  dropSaved(repository: string, ref: string, commit: string): Promise<void>;
  /** Returns the commit of a ref; null if there is none. */
  commitOf(repository: string, ref: string): Promise<string | null>;
  /**
   * Puts the files of a kept worktree back as uncommitted changes: into a new worktree, or into one that is clean and at the
   * commit that they belong to. Never overwrites anything.
   * @returns whether it did; false: something else is there
   * @throws OperationalError `worktree_failed`
   */
  putBack(order: PutBackOrder): Promise<boolean>;
}

/** @param makings git fails if it makes two worktrees of a repository at once */
export const worktreeRemoval = (git: Git, makings: KeyedMutex): WorktreeRemoval => ({
  save: ({ path }, order) => saveWorktree(git, path, { ...order, listsIgnored: true }),
  leftOut: ({ path }) => leftOutOf(git, path),
  stayReason: (checkout) => stayReason(git, checkout),
  openWork: (checkout) => openWork(git, checkout),
  filesBeside: (project, path) => filesBeside(git, project, path),
  forget: ({ repository, path }) =>
    makings(repository, async () => {
      if ((await pathExists(path)) || !(await pathExists(repository))) return;
      if ((await worktreeStatus(git, repository, path)) === 'unknown') return;
      await git.must(repository, ['worktree', 'remove', '--force', path]);
    }),
  async dropSaved(repository, ref, commit) {
    if (!(await pathExists(repository)) || (await commitOf(git, repository, ref)) !== commit) return;
    await git.must(repository, ['update-ref', '-d', ref, commit]);
  },
  commitOf: (repository, ref) => commitOf(git, repository, ref),
  putBack: (order) => makings(order.repository, () => putBack(git, order)),
});

async function commitOf(git: Git, repository: string, ref: string): Promise<string | null> {
  if (!(await pathExists(repository))) return null;
  const { failed, stdout } = await git.try(repository, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  return failed ? null : stdout.trim();
}

async function stayReason(git: Git, { repository, path }: WorktreeLocation): Promise<string | null> {
  const stuck = await stuckReason(git, { path: repository }, { path });
  if (stuck !== null || !(await pathExists(path))) return stuck;
  const submodules = await initializedSubmodules(git, path);
  const leftOut = await leftOutOf(git, path);
  for (const { path: name, reason } of leftOut) {
    if (reason !== 'nested-repository') continue;
    if (submodules.includes(name))
      return `${stays(path)} the submodule ${name} is at another commit, or has uncommitted changes. Commit and push them there.`;
    // A repository whose data are elsewhere cannot be moved with its folder.
    if (!(await isFolder(join(path, name, '.git'))))
      return `${stays(path)} ${name} is a checkout of another repository. Move it away first.`;
  }
  const unpushed = await unpushedSubmodules(git, path);
  return unpushed.length === 0
    ? null
    : `${stays(path)} there are commits in ${unpushed.join(', ')} that no remote has.`;
}

async function openWork(git: Git, { repository, path }: WorktreeLocation): Promise<OpenWork> {
  const head = await git.must(path, ['rev-parse', '--verify', 'HEAD^{commit}']);
  const on = await git.try(path, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  const isMerged = await isIn(git, repository, head, 'HEAD');
  const count = isMerged ? '0' : await git.must(repository, ['rev-list', '--count', `HEAD..${head}`]);
  const branch = on.failed ? null : on.stdout.trim();
  const { count: earlier } = await earlierCommits(git, repository, path);
  return { head, branch, uncommitted: await countUncommitted(git, path), unmerged: Number(count), earlier };
}

async function filesBeside(git: Git, project: Project, path: string): Promise<FilesBeside> {
  const { files, buildFolders } = await ignoredFiles(git, project, path);
  const submodules = nestedRepositories(await git.must(path, ['ls-files', '--stage', '-z']));
  const beside: SavedFile[] = [];
  for (const { path: name, reason, bytes } of await leftOutOf(git, path)) {
    if (reason === 'too-large') beside.push({ path: name, bytes: bytes ?? 0 });
    if (reason === 'nested-repository' && !submodules.has(name))
      beside.push({ path: name, bytes: await sizeOf(join(path, name)) });
  }
  return { files: [...beside, ...files], buildFolders };
}

async function putBack(git: Git, order: PutBackOrder): Promise<boolean> {
  const { repository, commit, earlierBranch } = order;
  if (!(await putFilesBack(git, order))) return false;
  // Their ref goes with the entry.
  const earlier = await commitOf(git, repository, `${commit}^3`);
  if (earlier !== null) await git.must(repository, ['update-ref', `refs/heads/${earlierBranch}`, earlier]);
  return true;
}

async function putFilesBack(git: Git, { repository, path, commit, branch }: PutBackOrder): Promise<boolean> {
  const parent = await git.must(repository, ['rev-parse', '--verify', `${commit}^1`]);
  const known = await worktreeStatus(git, repository, path);
  if (known === 'incomplete') await removeIncomplete(git, repository, path);
  if (known !== 'complete' || !(await pathExists(path))) {
    if ((await pathExists(path)) && !(await isEmptyFolder(path))) return false;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const tip = await commitOf(git, repository, `refs/heads/${branch}`);
    if (tip !== null && tip !== parent) return false;
    const target = tip === null ? ['-b', branch, path, parent] : [path, branch];
    const force = known === 'complete' ? ['--force'] : []; // git still lists it
    const added = await git.try(repository, ['worktree', 'add', ...force, ...target]);
    if (added.failed && (await worktreeStatus(git, repository, path)) !== 'complete')
      throw new OperationalError('worktree_failed', gitFailure(`The worktree ${path} was not created.`, added.stderr));
  }
  return apply(git, path, { commit, parent });
}

/** Brings the files of a commit into a clean worktree that is at its parent. */
async function apply(git: Git, path: string, { commit, parent }: { commit: string; parent: string }): Promise<boolean> {
  if ((await git.must(path, ['rev-parse', '--verify', 'HEAD^{commit}'])) !== parent) return false;
  const wanted = await git.must(path, ['rev-parse', '--verify', `${commit}^{tree}`]);
  const { tree } = await takeSnapshot(git, path);
  if (tree === wanted) return true;
  if ((await git.must(path, ['status', '--porcelain'])) !== '') return false;
  await git.must(path, ['read-tree', '-m', '-u', parent, commit]);
  const staged = await git.try(path, ['rev-parse', '--verify', '--quiet', `${commit}^2`]);
  await git.must(path, ['read-tree', staged.failed ? parent : staged.stdout.trim()]);
  await git.try(path, ['update-index', '-q', '--refresh']); // it fails because files have changed
  return true;
}

const isFolder = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => null))?.isDirectory() === true;

const isEmptyFolder = async (path: string): Promise<boolean> => (await readdir(path).catch(() => ['?'])).length === 0;
