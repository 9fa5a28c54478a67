import { cp, lstat, mkdir, readdir, readFile, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, matchesGlob } from 'node:path';
import type { BranchList, Project, SavedFile, Stage, StageId, Worktree } from '@callboard/contract';
import type { KeyedMutex } from '../../lib/async.ts';
import { OperationalError, Rejection } from '../../lib/errors.ts';
import { pathExists } from '../../platform/files.ts';
import type { Git } from '../../platform/git/git.ts';
import {
  entryOf,
  locateCheckout,
  type Misplaced,
  misplacedAt,
  replaced,
  signFolder,
} from '../../platform/git/locate-checkout.ts';
import { gitFailure } from '../../platform/git/run-git.ts';
import {
  fillWorktree,
  ignoredFiles,
  isCheckedOutElsewhere,
  listWorktrees,
  prepareSubmodules,
  removeIncomplete,
  sizeOf,
  statusIn,
  type WorktreeStatus,
  worktreeStatus,
} from './linked-worktrees.ts';
import { type SavedCommits, saveUnreferenced } from './remove-worktree.ts';
import { folderOf, type Spare, type SpareClaims } from './spare-worktree.ts';
import { unreferencedWork } from './unsaved-work.ts';

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
  /** A worktree that is ready may become that of a new stage. */
  spares?: SpareClaims;
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
    entries: readonly string[][];
    spare: Spare | null;
  } | null;
}

/** See `Worktrees.ensure`. Call it once at a time for each repository. */
export async function ensureWorktree(deps: EnsureDeps): Promise<Worktree> {
  const { git, project, stageId, recorded } = deps;
  await requireRepository(project);
  const folder = await folderOf(deps.dataDir, project);
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

/** Returns the path of a recorded worktree; the data directory may have moved. */
async function locationOf(deps: Pick<EnsureDeps, 'dataDir' | 'project'>, { path }: Pick<Worktree, 'path'>) {
  await requireRepository(deps.project);
  return join(await folderOf(deps.dataDir, deps.project), basename(path));
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
  const placeOf = (name: string) => ({ path: join(folder, name), branch: start.branch ?? `callboard/${name}` });
  const [commit, entries, firstTip, spare] = await Promise.all([
    startCommit(git, project, start.base),
    listWorktrees(git, project.path),
    tipOf(git, project, placeOf(stageId).branch),
    deps.spares?.find(project, folder) ?? null,
  ]);
  for (let n = 1; ; n++) {
    const name = n === 1 ? stageId : `${stageId}-${n}`;
    const place = placeOf(name);
    const known = statusIn(entries, place.path);
    if (known === 'incomplete') return { ...place, fresh: null }; // left by an interrupted start of this stage: nobody has used it yet
    const isHere = await pathExists(place.path);
    const isFree = () => (known === 'unknown' ? isEmpty(place.path) : isUntouched(deps, place, commit));
    if (isHere && (await isFree())) return { ...place, fresh: null };
    const tip = n === 1 ? firstTip : await tipOf(git, project, place.branch);
    const isOthers = (tip !== null && tip !== commit) || isCheckedOutElsewhere(entries, place);
    if (!isOthers && !isHere) return { ...place, fresh: { known, tip, commit, entries, spare } };
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
  if (fresh !== null && fresh.tip === null && fresh.spare !== null && deps.spares !== undefined) {
    const claimed = await deps.spares.claim(project, fresh.spare, { path, branch, ...fresh });
    if (claimed !== 'gone') {
      if (claimed.hookFailure !== null) notify(hookFailed(claimed.hookFailure));
      return 'new branch';
    }
  }
  const isKnown = fresh !== null && fresh.spare === null;
  const isNew = (isKnown ? fresh.tip : await tipOf(git, project, branch)) === null;
  const isChosen = recorded === null && start.base !== null;
  const begin = fresh?.commit ?? (isChosen ? await startCommit(git, project, start.base) : 'HEAD');
  const target = isNew ? ['-b', branch, path, begin] : [path, branch];
  const added = await git.try(project.path, ['worktree', 'add', ...force, ...target]);
  if (added.failed) {
    const isMade =
      !added.wasKilled && (await worktreeStatus(git, project.path, path)) === 'complete' && (await pathExists(path));
    // Git runs the hook last, when everything is checked out, and fails if the hook fails.
    if (isMade) notify(hookFailed(added.stderr));
    else throw creationFailed(path, added.stderr);
  }
  if (recorded !== null && known !== 'incomplete' && !isWanted) notify(recreatedNotice(branch, isNew));
  return isNew ? 'new branch' : 'existing branch';
}

const hookFailed = (text: string): string =>
  `The repository's post-checkout hook failed in the new worktree: ${text.trim()}`;

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

/** How many files a text names. */
const NAMED = 5;

/** Returns what stands in the place of a stage's worktree, so that nothing was run, and from what it would be made again, for people. */
async function misplacedText(
  git: Git,
  project: Pick<Project, 'path'>,
  found: { stageId: StageId; branch: string; stands: Misplaced },
): Promise<string> {
  const outlook = await remakeOutlook(git, project, found);
  return `${found.stands.text} Nothing was run. Make the worktree again: ${outlook}`;
}

/** Returns from what the worktree would be made again and what is lost, for people: the rest of a sentence, and more of them. */
async function remakeOutlook(
  git: Git,
  project: Pick<Project, 'path'>,
  { stageId, branch, stands }: { stageId: StageId; branch: string; stands: Misplaced },
): Promise<string> {
  const { kind } = stands;
  if (kind === 'copy') return 'this folder is used as it is, and nothing is lost.';
  if (kind === 'unlinked') return 'its .git file is written anew, and nothing is lost.';
  if (kind === 'moved') return 'git is told of its new place, and nothing is lost.';
  const tip = await tipOf(git, project, branch);
  const from =
    tip === null
      ? `its branch ${branch} is gone, too, and begins at the repository's current commit`
      : `from ${branch} at ${tip.slice(0, 7)}`;
  if (kind === 'unlisted')
    return `${from}, with all files of this folder as they are. Lost is what was staged, and what git had half done there.`;
  const record = await lastRecord(git, project, stageId);
  const open = record === null || record.head !== tip ? [] : await openFiles(git, project, record);
  const recorded = open.length === 0 ? '' : `, with ${named(open)} as last recorded`;
  const what = open.length === 0 ? 'not committed there' : 'changed there after that';
  const lost = `${from}${recorded}. Lost is what was ${what}, and files that git ignores.`;
  if (kind === 'link') return `${lost} The link goes; where it leads to stays as it is.`;
  return kind === 'file' || kind === 'other' ? `${lost} What stands there goes to the trash.` : lost;
}

function named(files: readonly string[]): string {
  const more = files.length > NAMED ? `, and ${files.length - NAMED} more` : '';
  return `${files.length === 1 ? '1 uncommitted file' : `${files.length} uncommitted files`} (${files.slice(0, NAMED).join(', ')}${more})`;
}

interface TurnRecord {
  head: string;
  tree: string;
}

/** The files of the worktree as they were recorded last, between two turns; null if they never were. */
async function lastRecord(git: Git, { path }: Pick<Project, 'path'>, stageId: StageId): Promise<TurnRecord | null> {
  const format = '--format=%(tree) %(parent)';
  const order = ['--sort=-refname', '--sort=-committerdate', '--count=1'];
  const reported = await git.try(path, ['for-each-ref', ...order, format, `refs/callboard/turns/${stageId}/`]);
  const [tree = '', head = ''] = reported.stdout.trim().split(' ');
  return reported.failed || head === '' ? null : { head, tree };
}

async function openFiles(git: Git, { path }: Pick<Project, 'path'>, { head, tree }: TurnRecord): Promise<string[]> {
  const list = ['diff-tree', '-r', '--no-renames', '--name-only', '-z', `${head}^{tree}`, tree];
  const reported = await git.try(path, list);
  return reported.failed ? [] : reported.stdout.split('\0').filter((name) => name !== '');
}

/** Where a stage's branch begins, and its name, as a person chose them; null is the default. */
export type StartPoint = Pick<Stage, 'base' | 'branch'>;

/**
 * Resolves if a stage may begin like this now.
 * @throws Rejection `unknown_base`, `bad_branch`, `branch_taken`
 */
export async function requireStartPoint(git: Git, { path }: Pick<Project, 'path'>, wanted: StartPoint): Promise<void> {
  const { base, branch } = wanted;
  if (base !== null && (await commitAt(git, path, base)) === null) {
    const advice = 'Choose one that "git branch --all" or "git log" lists; fetch it first if needed.';
    throw new Rejection('unknown_base', `The repository has no branch, tag or commit "${base}". ${advice}`);
  }
  if (branch === null) return;
  if (!(await isBranchName(git, path, branch))) {
    const rule = 'Use letters, digits, "-", "_", "." and "/", and neither spaces nor "..".';
    throw new Rejection('bad_branch', `Git does not accept "${branch}" as the name of a branch. ${rule}`);
  }
  const other = await conflictingBranch(git, path, branch);
  if (other === null) return;
  const why = other === branch ? 'exists already' : `cannot exist beside ${other}`;
  throw new Rejection('branch_taken', `The branch ${branch} ${why}. Choose another name for the stage's branch.`);
}

/** Returns the commit that a new branch begins at. @throws OperationalError `worktree_failed` */
export async function startCommit(git: Git, { path }: Pick<Project, 'path'>, base: string | null): Promise<string> {
  if (base === null) return git.must(path, ['rev-parse', 'HEAD']);
  const commit = await commitAt(git, path, base);
  if (commit !== null) return commit;
  const message = `The repository no longer has "${base}", which the stage starts from. Edit the stage and choose another base, then start it.`;
  throw new OperationalError('worktree_failed', message);
}

/** Lists the branches to begin at. @throws OperationalError `worktree_failed` */
export async function branchesOf(git: Git, { path }: Pick<Project, 'path'>): Promise<BranchList> {
  const current = await git.try(path, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  const format = ['--sort=-committerdate', '--format=%(refname:short)'];
  const listed = await git.must(path, ['for-each-ref', ...format, 'refs/heads/']);
  return {
    current: current.failed ? null : current.stdout.trim(),
    branches: listed.split('\n').filter((name) => name !== ''),
  };
}

/** A name that begins with a dash would be read as an option; git has no branch, tag or commit of such a name. */
async function commitAt(git: Git, path: string, revision: string): Promise<string | null> {
  if (revision.startsWith('-') || revision.startsWith('^')) return null;
  const found = await git.try(path, ['rev-parse', '--verify', '--quiet', `${revision}^{commit}`]);
  return found.failed ? null : found.stdout.trim();
}

async function isBranchName(git: Git, path: string, name: string): Promise<boolean> {
  if (name.startsWith('-') || name === 'HEAD' || name === '@') return false;
  if ((await git.try(path, ['check-ref-format', `refs/heads/${name}`])).failed) return false;
  const read = await git.try(path, ['check-ref-format', '--branch', name]); // "@{-1}" means another branch
  return !read.failed && read.stdout.trim() === name;
}

/** Returns the existing branch that leaves no room for this one: itself, or one of which either name is a folder. */
async function conflictingBranch(git: Git, path: string, name: string): Promise<string | null> {
  const { branches } = await branchesOf(git, { path });
  const isInside = (one: string, folder: string) => one.startsWith(`${folder}/`);
  return branches.find((one) => one === name || isInside(one, name) || isInside(name, one)) ?? null;
}

/** Returns the commit of a branch; null if there is no such branch. */
export async function tipOf(git: Git, project: Pick<Project, 'path'>, branch: string): Promise<string | null> {
  const tip = await git.try(project.path, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
  return tip.failed ? null : tip.stdout.trim();
}

/** Where new stages begin, and how that is brought up to date. */
export interface BaseRequest {
  /** Null: the branch that the main checkout is on. */
  base: string | null;
  /** Fetch first, and begin at what the remote has, unless the local branch has commits of its own. */
  fetch: boolean;
}

/**
 * Returns the revision at which a new stage begins; null: the current commit of the main checkout.
 * @throws OperationalError `fetch_failed`
 */
export async function newestBase(git: Git, { path }: Pick<Project, 'path'>, wish: BaseRequest): Promise<string | null> {
  if (!wish.fetch) return wish.base;
  const { upstream } = await followed(git, path, wish);
  const remote = await remoteOf(git, path, upstream ?? wish.base);
  if (remote === null) throw failed('The repository has no remote to fetch from.');
  const fetched = await git.try(path, ['fetch', '--quiet', '--no-write-fetch-head', '--', remote]);
  if (fetched.failed) throw failed(`git fetch ${remote} failed:\n${fetched.stderr.trim()}`);
  return knownBase(git, { path }, wish);
}

/** As `newestBase`, by what was fetched last. */
export async function knownBase(git: Git, { path }: Pick<Project, 'path'>, wish: BaseRequest): Promise<string | null> {
  if (!wish.fetch) return wish.base;
  const { branch, upstream } = await followed(git, path, wish);
  if (upstream === null || branch === null) return wish.base;
  const isBehind = !(await git.try(path, ['merge-base', '--is-ancestor', branch, upstream])).failed;
  return isBehind ? upstream : wish.base;
}

/** The local branch that a stage would begin at, and the remote one that it follows. */
async function followed(
  git: Git,
  path: string,
  { base }: BaseRequest,
): Promise<{ branch: string | null; upstream: string | null }> {
  const current = await git.try(path, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  const branch = base ?? (current.failed ? null : current.stdout.trim());
  return { branch, upstream: branch === null ? null : await upstreamOf(git, path, branch) };
}

/** The remote branch that a local branch follows; null if it follows none. */
async function upstreamOf(git: Git, path: string, branch: string): Promise<string | null> {
  if (branch.startsWith('-') || branch.includes('@')) return null;
  const found = await git.try(path, ['rev-parse', '--abbrev-ref', '--symbolic-full-name', `${branch}@{upstream}`]);
  const name = found.stdout.trim();
  return found.failed || name === '' ? null : name;
}

/** The remote whose branch it is, or `origin`, or the only one. */
async function remoteOf(git: Git, path: string, base: string | null): Promise<string | null> {
  const remotes = (await git.must(path, ['remote'])).split('\n').filter((name) => name !== '');
  const own = remotes.find((name) => base?.startsWith(`${name}/`));
  return own ?? (remotes.includes('origin') ? 'origin' : remotes.length === 1 ? (remotes[0] ?? null) : null);
}

const failed = (why: string): OperationalError =>
  new OperationalError('fetch_failed', `The stage was not started, because nothing could be fetched first. ${why}`);

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
