import { createHash } from 'node:crypto';
import { mkdir, open, readFile, realpath, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Project, Worktree } from '@callboard/contract';
import type { KeyedMutex } from '../../lib/async.ts';
import { pathExists, signOf } from '../../platform/files.ts';
import type { Git, GuardedGit } from '../../platform/git/git.ts';
import { entryOf, locateCheckout, misplacedAt, signFolder } from '../../platform/git/locate-checkout.ts';
import { headIn, INITIALIZING, listWorktrees, removeIncomplete } from './linked-worktrees.ts';

/**
 * A worktree of a project that is checked out before a stage needs it. It becomes that of the next new stage: a folder is renamed
 * and a branch made, where thousands of files would be written. Git has it as locked: with a reason for people while it is ready,
 * and as one that is being made while it is claimed, so that a claim that was killed is found like a creation that was killed.
 */
export interface SpareWorktrees {
  /** Checks one out, or brings it to this commit, if the project has so many files that a stage would wait for them. */
  prepareSpare(project: Project, order: SpareOrder, signal: AbortSignal): Promise<void>;
  /** Removes it, whatever state it is in. Never rejects because git failed. */
  removeSpare(project: Pick<Project, 'id' | 'path'>): Promise<void>;
}

interface SpareOrder {
  /** A worktree of the project, which tells how many files it has. */
  model: Pick<Worktree, 'path'>;
  /** Resolves with the commit at which the next stage would begin; null: none is needed any more. Called in turn with all that makes worktrees. */
  commit: () => Promise<string | null>;
}

/** A spare worktree that is ready, and that nobody has changed. */
export interface Spare {
  path: string;
  gitDir: string;
}

/** What a new worktree is made of. */
export interface SpareClaims {
  /** Ends a preparation, which then waits for those who wait for it. */
  giveWay(project: Pick<Project, 'path'>): void;
  /** Returns the spare worktree; null if there is none that can be used. Changes nothing. */
  find(project: Pick<Project, 'path'>, folder: string): Promise<Spare | null>;
  /**
   * Makes it the worktree at this path, on a new branch at this commit.
   * @returns what the hook `post-checkout` reported when it failed, or null; `gone` if it could not be claimed, and then it is removed
   */
  claim(project: Pick<Project, 'path'>, spare: Spare, to: ClaimOrder): Promise<{ hookFailure: string | null } | 'gone'>;
}

interface ClaimOrder {
  path: string;
  branch: string;
  commit: string;
  /** Git's list of worktrees, as it is. */
  entries: readonly string[][];
}

/** Its folder beside those of the stages. No stage can have this name. */
const SPARE = '.spare';
/** Among git's own files of the worktree: it is complete, how files were checked out, and its index. It goes first when it is claimed. */
const READY = 'callboard-spare';
const REASON = 'Callboard keeps this worktree ready for the next stage.';
/** With fewer files, git is as quick. */
const LEAST_FILES = 500;
/** Hooks run when it is claimed, as if it were made then. */
const WITHOUT_HOOKS = ['-c', 'core.hooksPath=/dev/null'];

export function createSpareWorktrees({
  git,
  dataDir,
  makings,
}: {
  git: GuardedGit;
  dataDir: string;
  makings: KeyedMutex;
}): SpareWorktrees & SpareClaims {
  /** By main checkout: ends a preparation. */
  const preparations = new Map<string, AbortController>();

  /** Tells apart all that decides how git checks out files, without calling git if nothing has changed. */
  async function settingsOf({ path }: Pick<Project, 'path'>): Promise<string> {
    const common = locateCheckout(path)?.commonDir ?? path;
    const files = ['config.worktree', 'info/attributes', 'info/sparse-checkout'].map((name) => join(common, name));
    return createHash('sha256')
      .update(`${await git.settingsOf(path)}\n${signOf(files)}`)
      .digest('hex');
  }

  async function find(project: Pick<Project, 'path'>, folder: string): Promise<Spare | null> {
    const path = join(folder, SPARE);
    if (!(await pathExists(path)) || misplacedAt(project.path, path) !== null) return null;
    const gitDir = locateCheckout(path)?.gitDir;
    if (gitDir === undefined) return null;
    const ready = await readFile(join(gitDir, READY), 'utf8').catch(() => null);
    if (ready === null || ready !== readyText(await settingsOf(project), gitDir)) return null;
    const status = await git.try(path, ['status', '--porcelain', '--ignored', '--untracked-files=all']);
    return status.failed || status.stdout !== '' ? null : { path, gitDir };
  }

  /** Git before 2.36 cannot be told to run the hook of a checkout, which the claim would leave out. */
  async function runsHooks({ path }: Pick<Project, 'path'>): Promise<boolean> {
    return !(await git.try(path, ['hook', 'run', '--ignore-missing', 'callboard-none'])).failed;
  }

  async function remove(project: Pick<Project, 'path'>, path: string): Promise<void> {
    if (await pathExists(project.path)) await git.try(project.path, ['worktree', 'remove', '--force', '--force', path]);
    await rm(path, { recursive: true, force: true });
    const entry = entryOf(project.path, path); // git leaves it if the folder has no `.git` file any more
    if (entry !== null) await rm(entry, { recursive: true, force: true });
  }

  /** Returns whether it is at this commit now. */
  async function checkOut(limited: Git, path: string, commit: string): Promise<boolean> {
    return !(await limited.try(path, [...WITHOUT_HOOKS, 'checkout', '--quiet', '--detach', commit])).failed;
  }

  async function prepare(project: Project, commit: string, signal: AbortSignal): Promise<void> {
    const folder = await folderOf(dataDir, project);
    const path = join(folder, SPARE);
    const settings = await settingsOf(project);
    const spare = await find(project, folder);
    const limited = git.until(signal);
    if (spare === null) {
      if ((await pathExists(path)) || entryOf(project.path, path) !== null) await remove(project, path);
      const made = await limited.try(project.path, [...WITHOUT_HOOKS, 'worktree', 'add', '--detach', path, commit]);
      if (made.failed) return remove(project, path);
    } else {
      if (headIn(await listWorktrees(git, project.path), path) === commit) return;
      await beginUse(spare.gitDir);
      if (!(await checkOut(limited, path, commit))) return remove(project, path);
    }
    const gitDir = locateCheckout(path)?.gitDir;
    if (gitDir === undefined) return remove(project, path);
    await writeFile(join(gitDir, 'locked'), REASON);
    signFolder(path);
    await writeFile(join(gitDir, READY), readyText(settings, gitDir));
  }

  return {
    prepareSpare: async (project, { model, commit }, signal) => {
      if ((await filesIn(model.path)) < LEAST_FILES || !(await runsHooks(project))) return;
      for (let isDone = false; !isDone; ) {
        const preparation = new AbortController();
        preparations.set(project.path, preparation);
        isDone = await makings(project.path, async () => {
          signal.throwIfAborted();
          const wanted = await commit();
          if (wanted !== null) await prepare(project, wanted, AbortSignal.any([signal, preparation.signal]));
          signal.throwIfAborted(); // then it is tried again
          return !preparation.signal.aborted;
        });
      }
    },
    giveWay: ({ path }) => preparations.get(path)?.abort(),
    removeSpare: (project) =>
      makings(project.path, async () => {
        const folder = await realpath(join(dataDir, 'worktrees', project.id)).catch(() => null);
        const path = folder === null ? null : join(folder, SPARE);
        if (path !== null && (await pathExists(path))) await remove(project, path);
      }),
    find,
    async claim(project, spare, { path, branch, commit, entries }) {
      await beginUse(spare.gitDir);
      const isThere = headIn(entries, spare.path) === commit || (await checkOut(git, spare.path, commit));
      if (!isThere) {
        await remove(project, spare.path);
        return 'gone';
      }
      await moveTo(spare, path);
      const [made, isOn] = await Promise.all([
        git.try(project.path, ['branch', '--no-track', branch, commit]),
        git.try(path, ['symbolic-ref', 'HEAD', `refs/heads/${branch}`]),
      ]);
      if (made.failed || isOn.failed) {
        await removeIncomplete(git, project.path, path);
        return 'gone';
      }
      await unlink(join(spare.gitDir, 'locked'));
      const none = '0'.repeat(commit.length);
      const hook = ['hook', 'run', '--ignore-missing', 'post-checkout', '--', none, commit, '1'];
      const ran = await git.try(path, hook);
      return { hookFailure: ran.failed ? ran.stderr : null };
    },
  };
}

/** Not even the owner of the index can change it, for example flags that hide a changed file, without changing this. */
const readyText = (settings: string, gitDir: string): string => `${settings} ${signOf([join(gitDir, 'index')])}`;

/** Returns the folder of the project's worktrees. */
export async function folderOf(dataDir: string, { id }: Pick<Project, 'id'>): Promise<string> {
  const parent = join(dataDir, 'worktrees', id);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  return realpath(parent); // git lists worktrees by their real paths
}

/** From here on it is one that is being made. */
async function beginUse(gitDir: string): Promise<void> {
  await rm(join(gitDir, READY), { force: true });
  await writeFile(join(gitDir, 'locked'), INITIALIZING);
}

/** As `git worktree move`, in the order in which a move that was killed leaves one that is being made at the new place. */
async function moveTo({ path: from, gitDir }: Spare, to: string): Promise<void> {
  const file = join(gitDir, 'gitdir'); // git may have written a relative path
  const before = await readFile(file, 'utf8');
  await writeFile(
    file,
    before.replace(`${SPARE}/.git`, () => `${basename(to)}/.git`),
  );
  await rename(from, to);
}

/** Returns how many files the index of a checkout has, by its header. */
async function filesIn(checkout: string): Promise<number> {
  const gitDir = locateCheckout(checkout)?.gitDir;
  if (gitDir === undefined) return 0;
  try {
    await using index = await open(join(gitDir, 'index'));
    const { buffer, bytesRead } = await index.read(Buffer.alloc(12), 0, 12, 0);
    return bytesRead === 12 ? buffer.readUInt32BE(8) : 0;
  } catch {
    return 0;
  }
}
