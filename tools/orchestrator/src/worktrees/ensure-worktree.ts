import { cp, mkdir, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, matchesGlob } from 'node:path';
import type { Project, StageId, Worktree } from '@callboard/contract';
import { OperationalError } from '../lib/errors.ts';
import { pathExists } from '../lib/path-exists.ts';
import type { Git } from './git/git.ts';
import { gitFailure } from './git/git-cause.ts';
import { type Misplaced, misplacedAt, signFolder } from './git/locate-checkout.ts';
import { ignoredFiles } from './ignored-files.ts';
import { misplacedText } from './remake-outlook.ts';
import { type StartPoint, startCommit, tipOf } from './start-point.ts';
import { prepareSubmodules } from './submodules.ts';
import {
  isCheckedOutElsewhere,
  listWorktrees,
  removeIncomplete,
  statusIn,
  type WorktreeStatus,
  worktreeStatus,
} from './worktree-list.ts';

export interface EnsureDeps {
  git: Git;
  dataDir: string;
  project: Project;
  stageId: StageId;
  /** The stage's recorded worktree. */
  recorded: Worktree | null;
  /** Where its branch begins, and its name, if a person chose them. */
  start: StartPoint;
  /** Receives notices for people about a new worktree. */
  notify: (notice: string) => void;
  /** A person wants the stage's worktree to be made again: what stood in its place is out of the way. */
  isWanted?: boolean;
}

type Location = Pick<Worktree, 'path' | 'branch'>;

/** A place for a worktree. */
interface FreeSlot extends Location {
  /** What was found where neither a folder nor other work is; null where that has to be looked at. */
  fresh: {
    known: WorktreeStatus;
    /** The commit of the branch; null: there is no such branch. */
    tip: string | null;
    /** The commit to begin at. */
    commit: string;
  } | null;
}

/** See `Worktrees.ensure`. Call it once at a time for each repository. */
export async function ensureWorktree(deps: EnsureDeps): Promise<Worktree> {
  const { git, project, stageId, recorded } = deps;
  await requireRepository(project);
  const folder = await folderOf(deps);
  const { fresh, ...place }: FreeSlot =
    recorded === null
      ? await freeSlot(deps, folder)
      : { path: join(folder, basename(recorded.path)), branch: recorded.branch, fresh: null };
  const made = await makeIfMissing(deps, { ...place, fresh });
  signFolder(place.path);
  if (made !== 'found' || recorded === null) await copyIgnored(git, project, place.path);
  if (made !== 'found') {
    const reported = await prepareSubmodules(git, place.path, project.settings.submodules);
    if (reported !== null) deps.notify(reported);
  }
  if (recorded === null && deps.start.branch === null && basename(place.path) !== stageId)
    reportOtherNames(deps, place);
  const isSame = recorded !== null && made !== 'new branch';
  const base = isSame ? recorded.base : (fresh?.commit ?? (await branchedAt(deps, place.branch)));
  return { ...place, base, ...(isSame && recorded.merges !== undefined && { merges: recorded.merges }) };
}

/** Returns the folder of the project's worktrees. */
async function folderOf({ dataDir, project }: Pick<EnsureDeps, 'dataDir' | 'project'>): Promise<string> {
  const parent = join(dataDir, 'worktrees', project.id);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  return realpath(parent); // git lists worktrees by their real paths
}

/** Returns the path of a recorded worktree; the data directory may have moved. */
export async function locationOf(deps: Pick<EnsureDeps, 'dataDir' | 'project'>, { path }: Pick<Worktree, 'path'>) {
  await requireRepository(deps.project);
  return join(await folderOf(deps), basename(path));
}

async function branchedAt({ git, project, recorded, start }: EnsureDeps, branch: string): Promise<string> {
  const begin = start.base === null || recorded !== null ? 'HEAD' : await startCommit(git, project, start.base);
  return git.must(project.path, ['merge-base', begin, branch]);
}

async function requireRepository(project: Pick<Project, 'name' | 'path'>): Promise<void> {
  if (await pathExists(project.path)) return;
  const message = `The repository of ${project.name} is no longer at ${project.path}. Move it back, or add it to the board from its new location.`;
  throw new OperationalError('worktree_failed', message);
}

function reportOtherNames({ stageId, notify }: EnsureDeps, { branch }: Location): void {
  notify(`This stage works on the branch ${branch}: callboard/${stageId} or its folder belongs to something else.`);
}

/** Returns a folder and a branch that nobody has worked in: the stage's own names, or the same with a number. */
async function freeSlot(deps: EnsureDeps, folder: string): Promise<FreeSlot> {
  const { git, project, stageId, start } = deps;
  const [commit, entries] = [await startCommit(git, project, start.base), await listWorktrees(git, project.path)];
  for (let n = 1; ; n++) {
    const name = n === 1 ? stageId : `${stageId}-${n}`;
    const place = { path: join(folder, name), branch: start.branch ?? `callboard/${name}` };
    const known = statusIn(entries, place.path);
    if (known === 'incomplete') return { ...place, fresh: null }; // left by an interrupted start of this stage: nobody has used it yet
    const isHere = await pathExists(place.path);
    const isFree = () => (known === 'unknown' ? isEmpty(place.path) : isUntouched(deps, place, commit));
    if (isHere && (await isFree())) return { ...place, fresh: null };
    const tip = await tipOf(git, project, place.branch);
    const isOthers = (tip !== null && tip !== commit) || isCheckedOutElsewhere(entries, place);
    if (!isOthers && !isHere) return { ...place, fresh: { known, tip, commit } };
    if (isOthers && start.branch !== null) throw branchTaken(start.branch);
  }
}

/** Whether an interrupted start left it before the stage recorded it, and nobody has used it since. */
async function isUntouched({ git, project }: EnsureDeps, { path, branch }: Location, commit: string): Promise<boolean> {
  const head = await git.try(path, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  if (head.stdout.trim() !== branch) return false;
  if ((await git.must(path, ['status', '--porcelain'])) !== '') return false;
  const { files, buildFolders } = await ignoredFiles(git, project, path);
  if (files.length + buildFolders.length > 0) return false;
  return !(await git.try(project.path, ['merge-base', '--is-ancestor', branch, commit])).failed;
}

const branchTaken = (branch: string): OperationalError =>
  new OperationalError(
    'worktree_failed',
    `The branch ${branch} is in use, or has other work by now. Edit the stage and choose another name for its branch, then start it.`,
  );

type Made = 'found' | 'existing branch' | 'new branch';

async function makeIfMissing(deps: EnsureDeps, { path, branch, fresh }: FreeSlot): Promise<Made> {
  const { git, project, recorded, start, notify, isWanted = false } = deps;
  const known = fresh?.known ?? (await worktreeStatus(git, project.path, path));
  if (known === 'incomplete') await removeIncomplete(git, project.path, path);
  const stands = misplacedAt(project.path, path);
  if (stands === null) return 'found';
  // One that Callboard took away was kept, and nobody misses anything.
  const mayMake = isWanted || known === 'incomplete' || (recorded?.isCleanedUp === true && stands.kind === 'gone');
  if (recorded !== null && !mayMake) throw await refusal(deps, stands);
  if (stands.kind !== 'gone' && stands.kind !== 'empty') throw pathTaken(project, path);
  const force = known === 'complete' ? ['--force'] : []; // git still lists it, though somebody deleted its folder
  const isNew = (fresh === null ? await tipOf(git, project, branch) : fresh.tip) === null;
  const isChosen = recorded === null && start.base !== null;
  const begin = fresh?.commit ?? (isChosen ? await startCommit(git, project, start.base) : 'HEAD');
  const target = isNew ? ['-b', branch, path, begin] : [path, branch];
  const added = await git.try(project.path, ['worktree', 'add', ...force, ...target]);
  if (added.failed) {
    const isMade =
      !added.wasKilled && (await worktreeStatus(git, project.path, path)) === 'complete' && (await pathExists(path));
    // Git runs the hook last, when everything is checked out, and fails if the hook fails.
    if (isMade) notify(`The repository's post-checkout hook failed in the new worktree: ${added.stderr.trim()}`);
    else throw creationFailed(path, added.stderr);
  }
  if (recorded !== null && known !== 'incomplete' && !isWanted) notify(recreatedNotice(branch, isNew));
  return isNew ? 'new branch' : 'existing branch';
}

async function refusal({ git, project, stageId, recorded }: EnsureDeps, stands: Misplaced) {
  const branch = recorded?.branch ?? '';
  return new OperationalError('worktree_replaced', await misplacedText(git, project, { stageId, branch, stands }));
}

const recreatedNotice = (branch: string, isNew: boolean): string =>
  isNew
    ? `The stage's worktree and branch were missing. Both were recreated: ${branch} begins at the repository's current commit, which Claude may not know.`
    : `The stage's worktree was missing. It was recreated from its branch ${branch}. It has no uncommitted changes; if it was cleaned up, they are in the trash.`;

function pathTaken(project: Project, path: string): OperationalError {
  const message = `The worktree cannot be created: ${path} exists already and is not a worktree of ${project.path}. Move it away, then start the stage again.`;
  return new OperationalError('worktree_failed', message);
}

const creationFailed = (path: string, text: string): OperationalError =>
  new OperationalError('worktree_failed', gitFailure(`The worktree ${path} was not created.`, text));

async function copyIgnored(git: Git, project: Project, path: string): Promise<void> {
  const { copyIgnored: globs } = project.settings;
  if (globs.length === 0) return;
  const ignored = await git.must(project.path, ['ls-files', '--others', '--ignored', '--exclude-standard', '-z']);
  for (const file of ignored.split('\0')) {
    if (file === '' || !globs.some((glob) => matchesGlob(file, glob))) continue;
    await mkdir(dirname(join(path, file)), { recursive: true });
    await cp(join(project.path, file), join(path, file), { errorOnExist: false, force: false });
  }
}

const isEmpty = async (folder: string): Promise<boolean> => (await readdir(folder).catch(() => ['?'])).length === 0;
