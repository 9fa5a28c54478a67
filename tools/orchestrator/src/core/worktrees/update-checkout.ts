import { lstat, mkdtemp, open, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Project, StageMerge } from '@callboard/contract';
import { OperationalError, Rejection } from '../../lib/errors.ts';
import { type Git, isGitRunningIn, requireNoOtherGit } from '../../platform/git/git.ts';
import { NO_REPLACEMENTS } from '../../platform/git/run-git.ts';
import { changedFiles, isIn, type MergeOutcome, namedFiles } from './merge-plan.ts';
import { withIndexCopy } from './snapshot.ts';

/**
 * Returns why a merge cannot be taken back, for people; null if it can: while the branch still stands at it, it was not pushed,
 * and the main checkout has no changes that could be lost.
 * @throws OperationalError `worktree_failed`
 */
export async function undoProblem(git: Git, project: Project, merge: StageMerge): Promise<string | null> {
  const { into, commit, previous } = merge;
  if (previous === null) return null; // Callboard moved nothing
  const { path } = project;
  const on = await git.try(path, ['symbolic-ref', '--quiet', 'HEAD']);
  if (on.stdout.trim() !== `refs/heads/${into}`) return `The main checkout at ${path} is not on ${into}.`;
  if ((await git.must(path, ['rev-parse', 'HEAD'])) !== commit)
    return `${into} has moved on since ${commit.slice(0, 7)}.`;
  const pushed = await git.must(path, [
    'for-each-ref',
    '--format=%(refname:short)',
    `--contains=${commit}`,
    'refs/remotes',
  ]);
  if (pushed !== '') return `${commit.slice(0, 7)} was pushed (${pushed.split('\n')[0]}).`;
  const changed = await changedFiles(git, path);
  if (changed.length > 0) return `The main checkout at ${path} has uncommitted changes (${namedFiles(changed)}).`;
  return moveProblem(git, path, commit, previous);
}

/**
 * Moves the branch and the main checkout back to where they were before the merge. The stage's branch stays as it is.
 * @param marker variables for the git that does it, by which it can be found
 * @throws Rejection `undo_refused`, and nothing has changed
 */
export async function undoMerge(
  git: Git,
  project: Project,
  merge: StageMerge,
  marker: Readonly<Record<string, string>>,
): Promise<void> {
  const reason = await undoProblem(git, project, merge);
  if (reason !== null) throw new Rejection('undo_refused', `${reason} The merge was not undone.`);
  const { commit, previous, into } = merge;
  if (previous === null) return;
  const { path } = project;
  await requireNoOtherGit(git, path, 'undo_refused');
  const since = Date.now();
  // Refuses to overwrite changes, unlike --hard.
  const reset = await git.try(path, ['reset', '--quiet', '--keep', previous], { ...NO_REPLACEMENTS, ...marker });
  if (reset.failed) await settleCheckout(git, path, { into, from: commit, to: previous, since });
  const now = await git.must(path, ['rev-parse', 'HEAD']);
  if (now !== previous) {
    const message = `Git did not take the merge back. Nothing was changed.\n${reset.stderr || reset.stdout}`.trim();
    throw new Rejection('undo_refused', message);
  }
  const from = await git.try(path, ['rev-parse', '--verify', '--quiet', 'ORIG_HEAD']);
  if (from.failed || from.stdout.trim() === commit) return;
  // Somebody committed between the check and the reset.
  await git.must(path, ['reset', '--quiet', '--keep', from.stdout.trim()]);
  throw new Rejection(
    'undo_refused',
    `${merge.into} has moved on since ${commit.slice(0, 7)}. The merge was not undone.`,
  );
}

/**
 * Takes back what a killed git left of a merge that it made in the main checkout: an unfinished merge of this commit, or exactly
 * its files staged. Anything else stays.
 */
export async function clearUnfinishedMerge(
  git: Git,
  { path }: Project,
  { head, previous }: Omit<StageMerge, 'at'>,
  isMerged: boolean,
): Promise<void> {
  const merging = await git.try(path, ['rev-parse', '--verify', '--quiet', 'MERGE_HEAD']);
  if (!merging.failed) {
    // Killed once the branch had moved: the person's next commit would be a second merge.
    if (merging.stdout.trim() === head) await git.try(path, ['merge', isMerged ? '--quit' : '--abort']);
    return;
  }
  const now = await git.try(path, ['rev-parse', 'HEAD']);
  if (isMerged || previous === null || now.stdout.trim() !== previous) return;
  const staged = await git.try(path, ['write-tree']);
  const merged = await git.try(path, ['merge-tree', '--write-tree', previous, head], NO_REPLACEMENTS);
  const isOurs = !staged.failed && !merged.failed && staged.stdout.trim() === merged.stdout.trim();
  if (isOurs) await git.try(path, ['reset', '--quiet', '--merge', previous]);
}

/**
 * Ends the undoing of a merge whose git no longer runs.
 * @returns whether the branch no longer has the merge
 * @throws OperationalError `worktree_failed` if the main checkout could not be finished or restored: try again later
 */
export async function settleUndo(
  git: Git,
  project: Project,
  merge: StageMerge,
  since: number,
): Promise<{ isUndone: boolean; foreign: string[] }> {
  const { into, commit, previous } = merge;
  const isUndone = !(await isIn(git, project.path, commit, `refs/heads/${into}`));
  if (previous === null) return { isUndone, foreign: [] };
  const { foreign } = await settleCheckout(git, project.path, { into, from: commit, to: previous, since });
  return { isUndone, foreign };
}

/** Files of a person that a move of their checkout would overwrite, and that `git status` does not show or git does not protect. */
interface InTheWay {
  /** Untracked files, also ignored ones, where the move would write one. */
  untracked: string[];
  /** Changed files that git was told to take for unchanged (`assume-unchanged`, `skip-worktree`). */
  hidden: string[];
}

/** The limit of paths in one call of git, since command lines are limited in length. */
const PATHS_PER_CALL = 500;

/**
 * Finds a person's files that are in the way of a move of the checkout from its commit to another tree.
 * @throws OperationalError `worktree_failed`
 */
async function findInTheWay(git: Git, checkout: string, from: string, to: string): Promise<InTheWay> {
  const list = ['diff-tree', '-r', '-z', '--no-renames', '--name-status', from, to];
  const fields = (await git.must(checkout, list, NO_REPLACEMENTS)).split('\0');
  const added: string[] = [];
  const changed = new Set<string>();
  for (let at = 0; at + 1 < fields.length; at += 2)
    if (fields[at] === 'A') added.push(fields[at + 1] ?? '');
    else changed.add(fields[at + 1] ?? '');
  const flags = new Map<string, string>();
  for (const line of (await git.must(checkout, ['ls-files', '-v', '-z'])).split('\0'))
    flags.set(line.slice(2), line.charAt(0));
  const isHidden = (letter = '') => letter.toUpperCase() === 'S' || (letter >= 'a' && letter <= 'z');
  const hidden = [...changed].filter((path) => isHidden(flags.get(path)));
  return {
    untracked: await findUntracked(git, checkout, added, flags),
    hidden: hidden.length === 0 ? [] : await findChanged(git, checkout, hidden),
  };
}

/** @param tracked what is in the index */
async function findUntracked(
  git: Git,
  checkout: string,
  added: readonly string[],
  tracked: ReadonlyMap<string, string>,
): Promise<string[]> {
  const kinds = new Map<string, Promise<'none' | 'folder' | 'file'>>();
  const kindOf = (path: string) => {
    const known = kinds.get(path) ?? readKind(join(checkout, path));
    kinds.set(path, known);
    return known;
  };
  const found = new Set<string>();
  const folders: string[] = [];
  for (const path of added) {
    const parts = path.split('/');
    for (let depth = 1; depth <= parts.length; depth++) {
      const above = parts.slice(0, depth).join('/');
      const kind = await kindOf(above);
      if (kind === 'folder' && depth === parts.length) folders.push(path);
      if (kind === 'folder') continue;
      // A file or a link where the move needs a folder, or another file. Git follows no link to a folder.
      if (kind === 'file' && !tracked.has(above)) found.add(above);
      break;
    }
  }
  // A folder that becomes a file: git removes the ignored files in it.
  for (const folder of folders) {
    const inside = ['--literal-pathspecs', 'ls-files', '--others', '-z', '--', `${folder}/`];
    for (const path of (await git.must(checkout, inside)).split('\0')) if (path !== '') found.add(path);
  }
  return [...found];
}

async function readKind(path: string): Promise<'none' | 'folder' | 'file'> {
  const info = await lstat(path).catch(() => null);
  if (info === null) return 'none';
  return info.isDirectory() ? 'folder' : 'file';
}

/** Returns those of the files that are there and have changed, whatever git was told about them. */
const findChanged = (git: Git, checkout: string, paths: readonly string[]): Promise<string[]> =>
  withIndexCopy(git, checkout, undefined, async ({ env }) => {
    await git.try(checkout, ['update-index', '-q', '--refresh'], env);
    const found: string[] = [];
    for (let at = 0; at < paths.length; at += PATHS_PER_CALL) {
      const chunk = paths.slice(at, at + PATHS_PER_CALL);
      const list = ['--literal-pathspecs', 'diff-files', '--name-only', '-z', '--', ...chunk];
      found.push(...(await git.must(checkout, list, env)).split('\0').filter((path) => path !== ''));
    }
    return found;
  });

/**
 * Returns why the checkout cannot be moved from its commit to another tree without losing a file of a person, and what to do;
 * null if it can.
 * @throws OperationalError `worktree_failed`
 */
async function moveProblem(git: Git, checkout: string, from: string, to: string): Promise<string | null> {
  const { untracked, hidden } = await findInTheWay(git, checkout, from, to);
  if (untracked.length > 0)
    return `${untracked.length === 1 ? 'A file' : `${untracked.length} files`} in the main checkout at ${checkout} that git does not track would be overwritten (${namedFiles(untracked)}). Move or rename ${untracked.length === 1 ? 'it' : 'them'} first.`;
  if (hidden.length > 0)
    return `The main checkout at ${checkout} has changes that git was told to ignore (${namedFiles(hidden)}). Run \`git update-index --no-assume-unchanged --no-skip-worktree\` for ${hidden.length === 1 ? 'this file' : 'these files'} there, then commit or stash the changes.`;
  return null;
}

/**
 * Throws if a merge would overwrite a file of a person.
 * @throws Rejection `merge_refused` with the files; OperationalError `worktree_failed`
 */
export async function requireNothingInTheWay(
  git: Git,
  checkout: string,
  { previous, commit, outcome }: { previous: string; commit: string; outcome: MergeOutcome },
): Promise<void> {
  if (outcome.commits === 0 || outcome.conflicts.length > 0) return;
  // Git before 2.38 cannot tell the tree of a merge: what the branch has changed is close enough.
  const from = outcome.tree === null ? await git.must(checkout, ['merge-base', previous, commit]) : previous;
  const reason = await moveProblem(git, checkout, from, outcome.tree ?? commit);
  if (reason !== null) throw new Rejection('merge_refused', `${reason} Nothing was merged.`);
}

/** One call of git that moves a branch and the main checkout, which is on it, from one commit to another. */
export interface CheckoutMove {
  /** The branch. */
  into: string;
  from: string;
  to: string;
  /** When the call began, in milliseconds since 1970. Locks that are older belong to somebody else. */
  since: number;
}

/** What a move became. */
export interface SettledMove {
  /** Whether the branch has moved; null if it is neither at the one commit nor at the other, and then nothing was touched. */
  hasMoved: boolean | null;
  /** Files with contents of neither commit: somebody else changed them meanwhile, so they stayed as they were. */
  foreign: string[];
}

/** The mode of a submodule's commit: git writes no file for it. */
const SUBMODULE = '160000';
const REGULAR = /^100/;

/** Who wrote a path that the two commits have differently: git or nobody since (`ours`), or somebody else. */
interface Path {
  path: string;
  /** What the branch's commit has there; null if nothing. */
  goal: string | null;
  isThere: boolean;
  isGoal: boolean;
  isOurs: boolean;
}

/**
 * Finishes a move that git was killed in, or failed in: the branch tells whether forward or back. Each file that the two commits
 * have differently is compared with both: what git wrote, also in part, is replaced; what somebody else wrote stays.
 * May be repeated. No git of the move may run.
 * @throws OperationalError `worktree_failed` if it could not be finished, for example because the disk is full
 */
export async function settleCheckout(git: Git, checkout: string, move: CheckoutMove): Promise<SettledMove> {
  const { into, from, to } = move;
  const on = await git.try(checkout, ['symbolic-ref', '--quiet', 'HEAD']);
  const head = await git.must(checkout, ['rev-parse', '--verify', 'HEAD^{commit}']);
  const isEither = on.stdout.trim() === `refs/heads/${into}` && [from, to].includes(head);
  await removeLocks(git, checkout, move);
  if (!isEither) return { hasMoved: null, foreign: [] };
  const entries = await differing(git, checkout, from, to);
  const files = entries.filter(({ modes }) => !modes.includes(SUBMODULE));
  const paths = await classify(git, checkout, { from, to, head, entries: files });
  await restoreFiles(git, checkout, head, paths);
  await restoreIndex(git, checkout, { side: head === to ? 1 : 0, entries });
  return { hasMoved: head === to, foreign: paths.filter(({ isOurs }) => !isOurs).map(({ path }) => path) };
}

/** Removes the locks that the killed git of a move has left. Another git could take none of them before. */
async function removeLocks(git: Git, checkout: string, { into, since }: CheckoutMove): Promise<void> {
  for (const name of ['index', 'HEAD', 'ORIG_HEAD', `refs/heads/${into}`, 'packed-refs']) {
    const reported = await git.try(checkout, ['rev-parse', '--git-path', `${name}.lock`]);
    if (reported.failed) continue;
    const lock = resolve(checkout, reported.stdout.trim());
    const info = await stat(lock).catch(() => null);
    if (info === null) continue;
    // File systems keep coarser times than the clock.
    const isOlder = info.mtimeMs < since - 1_000;
    if (isOlder || (await isGitRunningIn(checkout)))
      throw failed(
        checkout,
        `Another git process is running there, or was killed. If none is running, remove ${lock}.`,
      );
    await rm(lock, { force: true });
  }
}

const failed = (checkout: string, why: string): OperationalError =>
  new OperationalError(
    'worktree_failed',
    `The main checkout at ${checkout} is half changed, because a merge or its undoing was interrupted. Callboard keeps trying to finish that. ${why}`.trim(),
  );

async function classify(
  git: Git,
  checkout: string,
  { from, to, head, entries }: { from: string; to: string; head: string; entries: readonly Entry[] },
): Promise<Path[]> {
  const isThere = new Map<string, boolean>();
  for (const { path } of entries) isThere.set(path, await isFile(checkout, path));
  return withIndexCopy(git, checkout, undefined, async ({ env }) => {
    const like = new Map<string, Set<string>>();
    for (const commit of [from, to]) like.set(commit, await changedAgainst(git, checkout, commit, env));
    const matches = (commit: string, mode: string, path: string) =>
      mode !== NOTHING && isThere.get(path) === true && like.get(commit)?.has(path) === false;
    const paths: Path[] = [];
    const unknown: Entry[] = [];
    for (const entry of entries) {
      const { path, modes } = entry;
      const goalMode = head === to ? modes[1] : modes[0];
      const known = matches(from, modes[0], path) || matches(to, modes[1], path);
      const there = isThere.get(path) === true;
      if (there && !known) unknown.push(entry);
      paths.push({
        path,
        goal: goalMode === NOTHING ? null : goalMode,
        isThere: there,
        isGoal: matches(head, goalMode, path),
        isOurs: !there || known,
      });
    }
    const written = await writtenInPart(git, checkout, { entries: unknown, commits: [from, to], env });
    return paths.map((path) => (written.has(path.path) ? { ...path, isOurs: true } : path));
  });
}

const NOTHING = '000000';

interface Entry {
  path: string;
  /** Of the path in both commits. */
  modes: [string, string];
  ids: [string, string];
}

/** Lists what two commits have differently. */
async function differing(git: Git, checkout: string, from: string, to: string): Promise<Entry[]> {
  const reported = await git.must(checkout, ['diff-tree', '-r', '-z', '--no-renames', from, to], NO_REPLACEMENTS);
  const fields = reported.split('\0');
  const entries: Entry[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [one = '', other = '', id = '', otherId = ''] = (fields[at] ?? '').replace(/^:/, '').split(' ');
    entries.push({ path: fields[at + 1] ?? '', modes: [one, other], ids: [id, otherId] });
  }
  return entries;
}

/** Whether a file or a link is there, in folders that are no links. */
async function isFile(checkout: string, path: string): Promise<boolean> {
  if (!(await hasFolders(checkout, path))) return false;
  const info = await lstat(join(checkout, path)).catch(() => null);
  return info !== null && !info.isDirectory();
}

/** Whether everything above the path is a folder, as far as it exists; git does not follow links there either. */
async function hasFolders(checkout: string, path: string): Promise<boolean> {
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const info = await lstat(join(checkout, path.slice(0, at))).catch(() => null);
    if (info?.isDirectory() !== true) return info === null;
  }
  return true;
}

/** Returns the files that git sees changed or missing against a commit. Leaves the copy of the index at that commit. */
async function changedAgainst(
  git: Git,
  checkout: string,
  commit: string,
  env: Record<string, string>,
): Promise<Set<string>> {
  const own = { ...NO_REPLACEMENTS, ...env };
  await git.must(checkout, ['read-tree', '--reset', commit], own);
  await git.try(checkout, ['update-index', '-q', '--really-refresh'], own); // exits with 1 if something has changed
  const reported = await git.must(checkout, ['diff-files', '--name-only', '-z'], own);
  return new Set(reported.split('\0'));
}

/**
 * Returns the paths whose bytes are those that git writes for one of the commits, or their beginning: git was killed while it
 * wrote them.
 */
async function writtenInPart(
  git: Git,
  checkout: string,
  { entries, commits, env }: { entries: readonly Entry[]; commits: [string, string]; env: Record<string, string> },
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  if (entries.length === 0) return found;
  const folder = await mkdtemp(join(tmpdir(), 'callboard-files-'));
  try {
    for (const [side, commit] of commits.entries()) {
      const paths = entries.filter(({ modes }) => REGULAR.test(modes[side] ?? '')).map(({ path }) => path);
      await git.must(checkout, ['read-tree', '--reset', commit], { ...NO_REPLACEMENTS, ...env });
      const prefix = join(folder, String(side));
      await eachChunk(paths, async (chunk) => {
        const args = ['checkout-index', '--force', '--quiet', `--prefix=${prefix}/`, '--', ...chunk];
        const written = await git.try(checkout, args, { ...NO_REPLACEMENTS, ...env });
        if (written.failed) throw failed(checkout, written.stderr);
      });
      for (const path of paths) if (await isBeginning(join(checkout, path), join(prefix, path))) found.add(path);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return found;
}

const CHUNK_BYTES = 1024 * 1024;

/** Whether a regular file has the same bytes as another one, as far as it goes. */
async function isBeginning(file: string, whole: string): Promise<boolean> {
  if ((await lstat(file)).isSymbolicLink()) return false;
  const [one, other] = await Promise.all([open(file, 'r'), open(whole, 'r')]);
  try {
    const [mine, theirs] = [Buffer.alloc(CHUNK_BYTES), Buffer.alloc(CHUNK_BYTES)];
    for (let at = 0; ; ) {
      const { bytesRead } = await one.read(mine, 0, CHUNK_BYTES, at);
      if (bytesRead === 0) return true;
      const { bytesRead: there } = await other.read(theirs, 0, bytesRead, at);
      if (there < bytesRead || mine.compare(theirs, 0, bytesRead, 0, bytesRead) !== 0) return false;
      at += bytesRead;
    }
  } finally {
    await Promise.all([one.close(), other.close()]);
  }
}

/** Gives every file of ours what the commit has there: first what goes, which also makes room on a full disk. */
async function restoreFiles(git: Git, checkout: string, head: string, paths: readonly Path[]): Promise<void> {
  const skipped = await skippedPaths(git, checkout);
  const ours = paths.filter(({ path, isOurs }) => isOurs && !skipped.has(path));
  for (const { path, goal, isThere } of ours) {
    if (goal !== null) continue;
    if (isThere) await unlink(join(checkout, path));
    await removeEmptyFolders(checkout, path);
  }
  const written: string[] = [];
  for (const one of ours)
    if (one.goal !== null && !one.isGoal && (await makeRoom(checkout, one))) written.push(one.path);
  if (written.length === 0) return;
  await withIndexCopy(git, checkout, undefined, async ({ env }) => {
    await git.must(checkout, ['read-tree', '--reset', head], { ...NO_REPLACEMENTS, ...env });
    await eachChunk(written, async (chunk) => {
      const args = ['checkout-index', '--force', '--quiet', '--', ...chunk];
      const done = await git.try(checkout, args, { ...NO_REPLACEMENTS, ...env });
      if (done.failed) throw failed(checkout, done.stderr);
    });
  });
}

/** Moves those entries of the index that are still at the other commit. What a person has staged stays. */
async function restoreIndex(
  git: Git,
  checkout: string,
  { side, entries }: { side: 0 | 1; entries: readonly Entry[] },
): Promise<void> {
  const staged = new Map<string, string>();
  for (const line of (await git.must(checkout, ['ls-files', '--stage', '-z'])).split('\0')) {
    const [entry = '', path = ''] = [line.slice(0, line.indexOf('\t')), line.slice(line.indexOf('\t') + 1)];
    staged.set(path, entry.replace(/ 0$/, ''));
  }
  const at = ({ modes, ids }: Entry, which: 0 | 1) =>
    modes[which] === NOTHING ? undefined : `${modes[which]} ${ids[which]}`;
  const other = side === 0 ? 1 : 0;
  const behind = entries.filter((entry) => staged.get(entry.path) === at(entry, other)).map(({ path }) => path);
  await eachChunk(behind, async (chunk) => {
    const args = ['--literal-pathspecs', 'reset', '--quiet', 'HEAD', '--', ...chunk];
    const done = await git.try(checkout, args, NO_REPLACEMENTS);
    if (done.failed) throw failed(checkout, done.stderr);
  });
  await git.try(checkout, ['update-index', '-q', '--refresh']);
}

/** Returns the paths that a sparse checkout leaves out. */
async function skippedPaths(git: Git, checkout: string): Promise<ReadonlySet<string>> {
  const reported = await git.try(checkout, ['ls-files', '-v', '-z']);
  const lines = reported.stdout.split('\0').filter((line) => line.toUpperCase().startsWith('S '));
  const paths = lines.map((line) => line.slice(2));
  const there = await Promise.all(paths.map((path) => isFile(checkout, path)));
  return new Set(paths.filter((_path, at) => there[at] === false));
}

/** Whether a file can be written there without touching anything else: git would remove what is in its way. */
async function makeRoom(checkout: string, { path }: Path): Promise<boolean> {
  if (!(await hasFolders(checkout, path))) return false;
  const info = await lstat(join(checkout, path)).catch(() => null);
  if (info?.isDirectory() !== true) return true;
  return removeFolder(join(checkout, path));
}

/** Removes a folder if it is empty. @returns whether it did */
const removeFolder = (folder: string): Promise<boolean> => rmdir(folder).then(...([() => true, () => false] as const));

async function removeEmptyFolders(checkout: string, path: string): Promise<void> {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    const isGone = await removeFolder(join(checkout, folder));
    if (!isGone && (await lstat(join(checkout, folder)).catch(() => null)) !== null) return;
  }
}

async function eachChunk(paths: readonly string[], use: (chunk: string[]) => Promise<void>): Promise<void> {
  for (let at = 0; at < paths.length; at += PATHS_PER_CALL) await use(paths.slice(at, at + PATHS_PER_CALL));
}
