import { lstat, mkdir, mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { NotSaved, RewindBlocked, Worktree } from '@callboard/contract';
import { OperationalError } from '../../lib/errors.ts';
import { type Git, type ObjectsOnlyGit, withObjectsOnlyGit } from '../../platform/git/git.ts';
import { type TreeChange, treeChanges } from './file-changes.ts';
import { describeWorktree, takeSnapshot } from './snapshot.ts';
import { leftOutOf } from './unsaved-work.ts';

/** What setting the files of a worktree back would change. */
export interface RestorePlan {
  /** From the present files to those of the snapshot, without what is blocked. */
  changes: TreeChange[];
  /** What differs and stays as it is. */
  blocked: RewindBlocked[];
  /** What is in no snapshot of the present files. */
  notKept: NotSaved[];
}

export interface RestoreOrder {
  /** The commit or tree whose files the worktree gets. */
  target: string;
  /** The commit that has the present files. A file that differs from it was changed since, and stays. */
  kept?: string;
}

const PATHS_PER_CALL = 500;
const SUBMODULE = '160000';

/** As `Worktrees.planRestore`. */
export async function planRestore(git: Git, worktree: Worktree, { target, kept }: RestoreOrder): Promise<RestorePlan> {
  const { path } = worktree;
  const about = await describeWorktree(git, worktree);
  const notKept = await leftOutOf(git, path);
  const { tree } = await takeSnapshot(git, path, about.index);
  const [all, since, hidden] = await withObjectsOnlyGit(git, about, async (plain) => {
    const changes = await treeChanges(plain, tree, `${target}^{tree}`);
    return [
      changes,
      kept === undefined ? [] : await treeChanges(plain, kept, tree),
      await ignoredThen(git, path, { plain, target, changes: changes ?? [] }),
    ];
  });
  if (all === null || since === null) {
    const message = `The files of that moment are no longer in the repository at ${path}: git has removed them.`;
    throw new OperationalError('worktree_failed', message);
  }
  const untouchable = notKept.filter(({ reason }) => reason !== 'ignored').map((one) => one.path);
  const facts = { root: path, untouchable, since: pathsOf(since), going: goingOf(all) };
  const blocked: RewindBlocked[] = [];
  const changes: TreeChange[] = [];
  for (const change of all.flatMap(withoutRename)) {
    if (staysAnyway(change, untouchable)) continue; // `notKept` names it
    if (hidden.has(change.path)) {
      notKept.push({ path: change.path, reason: 'ignored', bytes: null });
      continue;
    }
    const reason = await blockedReason(change, facts);
    if (reason === null) changes.push(change);
    else blocked.push({ path: change.path, reason });
  }
  return { changes, blocked, notKept };
}

/** As `Worktrees.restore`. */
export async function restoreFiles(git: Git, worktree: Worktree, order: RestoreOrder): Promise<RestorePlan> {
  const plan = await planRestore(git, worktree, order);
  const { path } = worktree;
  for (const { path: file } of plan.changes.filter(({ status }) => status === 'deleted')) await remove(path, file);
  const written = plan.changes.filter(({ status }) => status !== 'deleted').map((change) => change.path);
  // They decide how git writes the others.
  const isAttributes = (file: string) => file === '.gitattributes' || file.endsWith('/.gitattributes');
  const attributes = written.filter(isAttributes);
  await write(git, path, order.target, attributes);
  await write(
    git,
    path,
    order.target,
    written.filter((file) => !isAttributes(file)),
  );
  return plan;
}

/**
 * Returns the untracked files that the snapshot's own ignore rules hide. They are in no snapshot with those rules, so their absence
 * there does not mean that they did not exist: they stay. Only `.gitignore` files differ between two moments of a worktree.
 */
async function ignoredThen(
  git: Git,
  path: string,
  { plain, target, changes }: { plain: ObjectsOnlyGit; target: string; changes: readonly TreeChange[] },
): Promise<ReadonlySet<string>> {
  const isRules = (file: string) => file === '.gitignore' || file.endsWith('/.gitignore');
  const going = goingOf(changes);
  if (going.size === 0 || ![...pathsOf(changes)].some(isRules)) return new Set();
  const tracked = new Set((await git.must(path, ['ls-files', '-z'])).split('\0'));
  const candidates = [...going].filter((file) => !tracked.has(file));
  const root = join(plain.folder, 'rules');
  await mkdir(root);
  const inRoot = async (...args: string[]) => {
    const done = await plain.try(['-c', 'core.bare=false', `--work-tree=${root}`, ...args]);
    if (!done.failed) return done.stdout.split('\0').filter((file) => file !== '');
    throw new OperationalError('worktree_failed', `git ${args[0]} failed for ${path}: ${done.stderr}`);
  };
  await inRoot('read-tree', `${target}^{tree}`);
  const rules = await inRoot('ls-files', '-z', '--', ':(glob)**/.gitignore');
  if (rules.length === 0) return new Set();
  await inRoot('checkout-index', '--', ...rules);
  for (const file of candidates) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), '');
  }
  return new Set(await inRoot('ls-files', '-z', '--others', '--ignored', '--exclude-standard'));
}

async function write(git: Git, path: string, target: string, files: readonly string[]): Promise<void> {
  if (files.length === 0) return;
  const folder = await mkdtemp(join(tmpdir(), 'callboard-index-'));
  try {
    // An index of its own: what is staged in the worktree stays staged.
    const env = { GIT_INDEX_FILE: join(folder, 'index'), LC_ALL: 'C' };
    await git.must(path, ['read-tree', `${target}^{tree}`], env);
    for (let at = 0; at < files.length; at += PATHS_PER_CALL)
      await git.must(path, ['checkout-index', '--force', '--', ...files.slice(at, at + PATHS_PER_CALL)], env);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Deletes a file, and the folders above it that are empty then. */
async function remove(root: string, file: string): Promise<void> {
  await rm(join(root, file), { force: true });
  for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) {
    const isGone = await rmdir(join(root, folder)).then(
      () => true,
      () => false, // something else is in it
    );
    if (!isGone) return;
  }
}

/** A rename as the removal of one file and the return of another. */
function withoutRename(change: TreeChange): TreeChange[] {
  if (change.oldPath === null) return [change];
  const { oldPath, oldMode, newMode, oldId } = change;
  const counts = { additions: 0, deletions: 0, isBinary: change.isBinary };
  return [
    { ...counts, path: oldPath, oldPath: null, status: 'deleted', oldMode, newMode: null, oldId, newId: null },
    { ...change, oldPath: null, status: 'added', oldMode: null, newMode, oldId: null },
  ];
}

const pathsOf = (changes: readonly TreeChange[]): ReadonlySet<string> =>
  new Set(changes.flatMap(({ path, oldPath }) => (oldPath === null ? [path] : [path, oldPath])));

/** The files that are removed. */
const goingOf = (changes: readonly TreeChange[]): ReadonlySet<string> =>
  new Set(changes.flatMap(withoutRename).flatMap(({ path, status }) => (status === 'deleted' ? [path] : [])));

const isWithin = (path: string, folders: readonly string[]): boolean =>
  folders.some((one) => path === one || path.startsWith(`${one}/`));

/** Whether the snapshot does not have it because no snapshot would. */
const staysAnyway = ({ path, status }: TreeChange, untouchable: readonly string[]): boolean =>
  status === 'deleted' && isWithin(path, untouchable);

interface Facts {
  root: string;
  /** What is in no snapshot: nested repositories, large and unreadable files. */
  untouchable: readonly string[];
  /** What differs from the files that were kept. */
  since: ReadonlySet<string>;
  going: ReadonlySet<string>;
}

async function blockedReason(
  { path, status, oldMode, newMode }: TreeChange,
  facts: Facts,
): Promise<RewindBlocked['reason'] | null> {
  if (oldMode === SUBMODULE || newMode === SUBMODULE) return 'submodule';
  if (path.startsWith('"')) return 'name';
  if (facts.since.has(path)) return 'changed-since';
  if (isWithin(path, facts.untouchable)) return 'in-the-way';
  return (await isInTheWay(path, status === 'added', facts)) ? 'in-the-way' : null;
}

/** Whether writing or deleting the file would touch something that is in no snapshot. */
async function isInTheWay(path: string, isNew: boolean, { root, going }: Facts): Promise<boolean> {
  const parts = path.split('/');
  for (let depth = 1; depth < parts.length; depth++) {
    const above = parts.slice(0, depth).join('/');
    const found = await lstat(join(root, above)).catch(() => null);
    if (found === null) break;
    // A link would lead out of the worktree.
    if (!found.isDirectory()) return !going.has(above);
  }
  if (!isNew) return false;
  const found = await lstat(join(root, path)).catch(() => null);
  if (found === null) return false;
  if (!found.isDirectory()) return true;
  const entries = await readdir(join(root, path), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  const nameOf = (entry: (typeof entries)[number]) => join(entry.parentPath, entry.name).slice(root.length + 1);
  return files.some((entry) => !going.has(nameOf(entry)));
}
