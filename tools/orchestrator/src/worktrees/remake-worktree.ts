import { lstat, mkdir, readdir, readFile, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Project, SavedFile, StageId, Worktree } from '@callboard/contract';
import { OperationalError } from '../lib/errors.ts';
import type { KeyedMutex } from '../lib/keyed-mutex.ts';
import { fillWorktree } from './checkouts.ts';
import { type EnsureDeps, ensureWorktree, locationOf } from './ensure-worktree.ts';
import type { Git } from './git/git.ts';
import { gitFailure } from './git/git-cause.ts';
import { entryOf, locateCheckout, type Misplaced, misplacedAt, replaced, signFolder } from './git/locate-checkout.ts';
import { sizeOf } from './ignored-files.ts';
import { unreferencedWork } from './loose-work.ts';
import { lastRecord, misplacedText, remakeOutlook } from './remake-outlook.ts';
import { type SavedCommits, saveUnreferenced } from './remove-worktree.ts';
import { tipOf } from './start-point.ts';

/** What to do about a worktree in whose place something else stands, or nothing. */
export interface InPlace {
  /**
   * Puts the stage's worktree back into its place, if something else stands there, or nothing.
   * @throws OperationalError `worktree_failed`; a system error
   */
  remake(project: Project, stageId: StageId, order: RemakeOrder): Promise<Remade>;
  /** Throws unless the worktree stands where it was made. @throws OperationalError `worktree_replaced` */
  requireInPlace(project: Pick<Project, 'path'>, worktree: Pick<Worktree, 'path'>): void;
  /** Returns null if the worktree stands where it was made; otherwise what stands there, as the refusal of a launch says it. */
  misplacement(project: Pick<Project, 'path'>, stageId: StageId, worktree: Worktree): Promise<string | null>;
}

/** What `remake` needs to know. */
interface RemakeOrder extends Pick<RemakeDeps, 'recorded' | 'save'> {
  /** Receives further notices for people. */
  notify?: RemakeDeps['notify'];
}

export const inPlace = ({ git, dataDir, makings }: { git: Git; dataDir: string; makings: KeyedMutex }): InPlace => ({
  remake: (project, stageId, { notify = () => undefined, ...order }) =>
    makings(project.path, () =>
      remakeWorktree({ ...order, git, dataDir, project, stageId, notify, start: { base: null, branch: null } }),
    ),
  requireInPlace(project, worktree) {
    const stands = misplacedAt(project.path, worktree.path);
    if (stands !== null) throw replaced(stands);
  },
  async misplacement(project, stageId, { path, branch }) {
    const stands = misplacedAt(project.path, path);
    return stands === null ? null : misplacedText(git, project, { stageId, branch, stands });
  },
});

/** A worktree that stands in its place again. */
interface Remade {
  worktree: Worktree;
  /** What was done and what is lost, for people; null if the worktree was in its place. */
  told: string | null;
  /** Whether its folder is a new one, without ignored files and what a set-up had made. */
  isNew: boolean;
}

interface RemakeDeps extends Omit<EnsureDeps, 'recorded' | 'isWanted'> {
  recorded: Worktree;
  /** Moves files of a folder to the trash, and lists there commits that were kept for it. */
  save: (folder: string, files: readonly SavedFile[], commits: SavedCommits | null) => Promise<unknown>;
}

/**
 * Puts the stage's worktree back into its place. Its own folder is connected again, with all its files; otherwise the worktree is
 * made from its branch, with the files as they were last recorded, and what stands there goes to the trash. Call it once at a time
 * for each repository; it may be repeated after an interruption.
 * @throws OperationalError `worktree_failed`; a system error
 */
async function remakeWorktree(deps: RemakeDeps): Promise<Remade> {
  const { git, project, stageId, recorded, save } = deps;
  const path = await locationOf(deps, recorded);
  const found = { ...recorded, path };
  const stands = misplacedAt(project.path, path);
  if (stands === null) return { worktree: await ensureWorktree(deps), told: null, isNew: false };
  const outlook = await remakeOutlook(git, project, { stageId, branch: recorded.branch, stands });
  if (isOwnFolder(stands)) {
    await connect(deps, found, stands);
    signFolder(path);
    return { worktree: await ensureWorktree(deps), told: `${stands.text} Made again: ${outlook}`, isNew: false };
  }
  const loose = await unreferencedWork(git, project, found, { branchGoes: false });
  const commits = await saveUnreferenced(git, project, loose, basename(path));
  const files = await filesAt(path, stands);
  const folder = stands.kind === 'file' ? dirname(path) : path;
  if (files.length > 0 || commits !== null) await save(folder, files, commits);
  if (stands.kind === 'link') await unlink(path);
  else if (stands.kind === 'empty' || stands.kind === 'other') await rmdir(path);
  const record = await lastRecord(git, project, stageId);
  const tip = await tipOf(git, project, recorded.branch);
  const worktree = await ensureWorktree({ ...deps, isWanted: true });
  if (record !== null && record.head === tip) await fillWorktree(git, path, record.tree);
  const saved = commits === null ? '' : ' Commits that no branch has are in the trash.';
  return { worktree, told: `${stands.text} Made again: ${outlook}${saved}`, isNew: true };
}

/** Whether the folder there has the files of the stage. */
const isOwnFolder = ({ kind }: Misplaced): boolean =>
  kind === 'unlinked' || kind === 'unlisted' || kind === 'moved' || kind === 'copy';

async function filesAt(path: string, { kind }: Misplaced): Promise<SavedFile[]> {
  const names = kind === 'other' ? await readdir(path) : [];
  if (kind === 'file') return [{ path: basename(path), bytes: (await lstat(path)).size }];
  return Promise.all(names.map((name) => savedFile(path, name)));
}

async function savedFile(folder: string, name: string): Promise<SavedFile> {
  const found = await lstat(join(folder, name));
  return { path: name, bytes: found.isDirectory() ? await sizeOf(join(folder, name)) : found.size };
}

/** Connects a folder with the repository again. Its files are not touched. */
async function connect(deps: RemakeDeps, worktree: Worktree, { kind }: Misplaced): Promise<void> {
  const { git, project, save } = deps;
  const { path } = worktree;
  const dotGit = join(path, '.git');
  const entry = entryOf(project.path, path);
  if (kind === 'copy') return;
  if (kind === 'unlinked' && entry !== null) {
    const isFolder = (await lstat(dotGit).catch(() => null))?.isDirectory() === true;
    if (isFolder) await save(path, [await savedFile(path, '.git')], null);
    await rm(dotGit, { force: true });
    await writeFile(dotGit, `gitdir: ${entry}\n`);
    await writeFile(join(entry, 'commondir'), '../..\n');
    return;
  }
  if (kind === 'moved' && !(await isElsewhere(path))) {
    await git.must(project.path, ['worktree', 'repair', path]);
    return;
  }
  await addEntry(git, project, worktree);
}

/** Whether the folder that git knows is there as well: then this one is a copy, and gets an entry of its own. */
async function isElsewhere(path: string): Promise<boolean> {
  const entry = locateCheckout(path)?.gitDir;
  const back = entry === undefined ? '' : (await readFile(join(entry, 'gitdir'), 'utf8')).trim();
  return (await lstat(back).catch(() => null)) !== null;
}

/** Makes an entry for a folder that has its files. Git makes it with a folder of its own, which then goes. */
async function addEntry(git: Git, project: Project, { path, branch }: Worktree): Promise<void> {
  const beside = join(dirname(path), '.connected', basename(path));
  await rm(dirname(beside), { recursive: true, force: true });
  await mkdir(dirname(beside), { recursive: true, mode: 0o700 });
  await git.try(project.path, ['worktree', 'prune']);
  const target = (await tipOf(git, project, branch)) === null ? ['-b', branch, beside, 'HEAD'] : [beside, branch];
  const added = await git.try(project.path, ['worktree', 'add', '--no-checkout', ...target]);
  if (added.failed) {
    const text = gitFailure(`The worktree ${path} was not connected again.`, added.stderr);
    throw new OperationalError('worktree_failed', text);
  }
  await rename(join(beside, '.git'), join(path, '.git'));
  await rm(dirname(beside), { recursive: true, force: true });
  await git.must(project.path, ['worktree', 'repair', path]);
  signFolder(path);
  await git.must(path, ['reset', '--mixed', '--quiet']);
}
