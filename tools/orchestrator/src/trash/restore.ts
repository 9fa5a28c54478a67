import { mkdir, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { type CommandReply, type MachineId, NAMED_FILES, type SavedFile } from '@callboard/contract';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { OperationalError, Rejection } from '../lib/errors.ts';
import { moveFile } from '../lib/move-file.ts';
import type { Store } from '../store/store.ts';
import type { WorktreeRemoval } from '../worktrees/taking-away.ts';
import { type Entries, isThere, stageOf } from './entries.ts';
import type { Manifest } from './manifest.ts';

export interface RestoreDeps {
  store: Store;
  dataDir: string;
  entries: Entries;
  worktrees: Pick<WorktreeRemoval, 'putBack'>;
  here: MachineId | null;
}

type Restored = CommandReply<'restore_trash'>;

/**
 * Moves what an entry holds into a folder, and deletes the entry last. See `Trash.restore`.
 * @throws as `Trash.restore`
 */
export async function restoreEntry(deps: RestoreDeps, manifest: Manifest, folder?: string): Promise<Restored> {
  if (folder !== undefined && !isAbsolute(folder))
    throw new Rejection('bad_request', `${folder} is not an absolute path. Give one that begins with "/".`);
  const { entries, dataDir } = deps;
  const own = join(dataDir, 'restored', nameOf(manifest));
  const files = await entries.present(manifest);
  const place =
    manifest.work?.commit == null
      ? { target: folder ?? (await entries.worktreeFor(manifest)) ?? own, branch: null }
      : await putWorkBack(deps, { ...manifest.work, commit: manifest.work.commit }, { manifest, own, folder });
  const { target } = place;
  await requireFree(target, files);
  try {
    await mkdir(target, { recursive: true });
    for (const { path } of files) await requireInside(target, dirname(join(target, path)));
    for (const { path } of files) await moveFile(entries.fileOf(manifest.id, path), join(target, path));
  } catch (error) {
    throw cannotRestore(target, error);
  }
  return { folder: target, files: files.slice(0, NAMED_FILES), fileCount: files.length, branch: place.branch };
}

const nameOf = ({ stageId, id }: Manifest): string => `${stageId}-${id.slice(0, 8)}`;

interface WorkOrder {
  manifest: Manifest;
  own: string;
  folder: string | undefined;
}

/** How many folders are tried for a new worktree. */
const TRIES = 20;

/**
 * Restores the files of the kept commit: into the worktree of the stage if that is gone or untouched, else into a new one with a
 * branch of its own. The same again after an interruption.
 */
async function putWorkBack(
  { store, worktrees, here }: RestoreDeps,
  { commit, repository }: { commit: string; repository: string },
  { manifest, own, folder }: WorkOrder,
): Promise<{ target: string; branch: string }> {
  const stage = await stageOf({ store, here }, manifest);
  if (!(await isThere(repository))) {
    const message = `The repository of ${manifest.projectName} is no longer at ${repository}, so the work in it cannot be restored. Move it back first.`;
    throw new OperationalError('worktree_failed', message);
  }
  const earlierBranch = `callboard/restored-${nameOf(manifest)}-earlier`;
  const put = (path: string, branch: string) => worktrees.putBack({ repository, path, commit, branch, earlierBranch });
  const worktree = stage?.worktree ?? null;
  if (folder === undefined && worktree !== null && (await store.read.sessions.find(manifest.stageId))?.launchId == null)
    if (await put(worktree.path, worktree.branch)) {
      await noteRestored(store, manifest);
      return { target: worktree.path, branch: worktree.branch };
    }
  const branch = `callboard/restored-${nameOf(manifest)}`;
  if (folder !== undefined) {
    if (await put(folder, branch)) return { target: folder, branch };
    throw new Rejection('would_overwrite', `${folder} is not empty, so nothing was restored. Choose another folder.`);
  }
  for (let n = 1; n <= TRIES; n++) {
    const suffix = n === 1 ? '' : `-${n}`;
    if (await put(`${own}${suffix}`, `${branch}${suffix}`))
      return { target: `${own}${suffix}`, branch: `${branch}${suffix}` };
  }
  throw new Rejection('would_overwrite', `${own} and the folders after it are taken. Restore into another folder.`);
}

/** The stage's worktree is there again: from now on, people would miss it. */
async function noteRestored(store: Store, { stageId }: Manifest): Promise<void> {
  await store.transact(async (tx) => {
    const found = await tx.stages.find(stageId);
    if (found?.worktree?.isCleanedUp !== true) return;
    const { isCleanedUp: _isCleanedUp, ...worktree } = found.worktree;
    const stage = { ...found, worktree, updatedAt: tx.now };
    await tx.stages.update(stage);
    await tx.emit({ type: 'stage-updated', data: { stageId, stage } });
  });
}

/** How many of the conflicting files an error names. */
const NAMED = 5;

async function requireFree(target: string, files: readonly SavedFile[]): Promise<void> {
  const taken = await Promise.all(files.map(({ path }) => isThere(join(target, path))));
  const inTheWay = files.filter((_file, index) => taken[index]).map(({ path }) => path);
  if (inTheWay.length === 0) return;
  const more = inTheWay.length > NAMED ? ` and ${inTheWay.length - NAMED} more` : '';
  const message = `${target} already has ${inTheWay.slice(0, NAMED).join(', ')}${more}, so nothing was restored. Move these files away, or restore into another folder.`;
  throw new Rejection('would_overwrite', message);
}

/** Refuses a path through a link that leads out of the folder; a session in the worktree may have created one. */
async function requireInside(target: string, parent: string): Promise<void> {
  const top = await realpath(target);
  let folder = parent;
  while (!(await isThere(folder))) folder = dirname(folder);
  const real = await realpath(folder).catch(() => null);
  const isInside = real !== null && (real === top || real.startsWith(`${top}/`)) && (await stat(real)).isDirectory();
  if (isInside) return;
  const message = `${folder} is not a folder inside ${target}, so nothing was restored. Restore into another folder.`;
  throw new Rejection('would_overwrite', message);
}

function cannotRestore(target: string, error: unknown): unknown {
  if (error instanceof Rejection || systemCode(error) === undefined) return error;
  const message = `Not everything could be restored into ${target} (${messageOf(error)}). The missing files are still in the trash.`;
  return new OperationalError('storage_failed', message, { cause: error });
}
