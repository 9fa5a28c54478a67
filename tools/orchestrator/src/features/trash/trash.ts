import { lstat, mkdir, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import {
  type CommandReply,
  type MachineId,
  NAMED_FILES,
  type Project,
  SavedFile,
  SavedWork,
  type Stage,
  StageId,
  TrashEntry,
  type Worktree,
} from '@callboard/contract';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import type { WorktreeRemoval } from '../../core/worktrees/remove-worktree.ts';
import { createKeyedMutex, type KeyedMutex } from '../../lib/async.ts';
import { OperationalError, Rejection } from '../../lib/errors.ts';
import { moveFile } from '../../platform/files.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { OrphanedWorktree } from '../../store/ports/machine-port.ts';
import type { Store } from '../../store/store.ts';

export interface TrashDeps {
  store: Store;
  platform: Platform;
  log: Logger;
  dataDir: string;
  worktrees: Pick<WorktreeRemoval, 'putBack' | 'dropSaved'>;
  /** Null where one machine has everything. */
  here: MachineId | null;
}

/** What was kept of removed worktrees: files in `<data-dir>/trash`, one folder for each removal, and commits on hidden refs. */
export interface Trash {
  /**
   * Moves files, with paths relative to the folder, into a new entry. Files moved before a failure stay in the entry.
   * @param work commits that a ref keeps already
   * @throws a system error
   */
  save(folder: string, files: readonly SavedFile[], origin: Origin, work?: Manifest['work']): Promise<TrashEntry>;
  /** Lists the entries, newest first. */
  list(): Promise<TrashEntry[]>;
  /**
   * Moves the files of an entry into a folder and deletes the entry. Without a folder: into the stage's worktree, or into a
   * new folder if there is none. Kept work becomes a worktree with its changes uncommitted: that of the stage if it is gone or
   * untouched, else a new one.
   * @throws Rejection `unknown_trash`, `would_overwrite`, `bad_request`; nothing was moved then
   * @throws OperationalError `storage_failed`; files that were not restored are still in the trash. `worktree_failed`
   */
  restore(id: string, folder?: string): Promise<CommandReply<'restore_trash'>>;
  /** Permanently deletes entries from before this instant. */
  forgetOlder(instant: string): Promise<void>;
  /** The entries, and the mutex in which each is changed, for whoever fills them. */
  readonly entries: Entries;
  readonly inTurn: KeyedMutex;
}

export function createTrash({ store, platform, log, dataDir, worktrees, here }: TrashDeps): Trash {
  const entries = createEntries({ store, platform, dataDir, here });
  const inTurn = createKeyedMutex();

  async function restore(id: string, folder?: string): Promise<CommandReply<'restore_trash'>> {
    const manifest = await entries.find(id);
    if (manifest === null || manifest.taking !== null)
      throw new Rejection('unknown_trash', 'This entry is no longer in the trash.');
    const restored = await restoreEntry({ store, dataDir, entries, worktrees, here }, manifest, folder);
    await dropWork(manifest.work);
    await entries.remove(id);
    return restored;
  }

  async function dropWork(work: Awaited<ReturnType<Entries['all']>>[number]['work']): Promise<void> {
    if (work !== null && work.commit !== null) await worktrees.dropSaved(work.repository, work.ref, work.commit);
  }

  return {
    entries,
    inTurn,
    async save(folder, files, origin, work = null) {
      // Stored before the moves, so that every moved file is listed even after a crash.
      const manifest = await entries.create(origin, { files: [...files], work });
      await entries.takeIn(manifest, folder);
      return { ...(await entries.describe(manifest)), worktree: null };
    },
    async list() {
      return Promise.all((await entries.all()).filter(({ taking }) => taking === null).map(entries.describe));
    },
    restore: (id, folder) => inTurn(id, () => restore(id, folder)),
    async forgetOlder(instant) {
      for (const { id, keptAt, work, taking } of await entries.all()) {
        if (keptAt >= instant || taking !== null) continue;
        await inTurn(id, async () => {
          await dropWork(work); // first: an entry tells which ref to drop
          await entries.remove(id);
        });
        log.info({ id }, 'old trash entry deleted');
      }
    },
  };
}

/** How long an entry stays, in days while Callboard runs (docs/decisions/storage.md). */
const TRASH_RETENTION_DAYS = 30;
const DAY_MS = 24 * 3_600_000;

/** Whose files they were, and who removed them. */
export interface Origin {
  project: Pick<Project, 'id' | 'name'>;
  stage: Pick<Stage, 'id' | 'title'>;
  by: string | null;
}

/** The folders of the trash: `<data-dir>/trash/<id>`, each with its manifest and its files. */
export interface Entries {
  /** Newest first. */
  all(): Promise<Manifest[]>;
  find(id: string): Promise<Manifest | null>;
  /** Stores a new entry, before anything happens to what it lists. */
  create(origin: Origin, rest: Pick<Manifest, 'files'> & Partial<Manifest>): Promise<Manifest>;
  save(manifest: Manifest): Promise<void>;
  remove(id: string): Promise<void>;
  /** Moves the files of an entry from a folder into it. Those that are there already are skipped. @throws a system error */
  takeIn(manifest: Manifest, folder: string): Promise<void>;
  fileOf(id: string, path: string): string;
  /** Returns the files that are still in the entry; an earlier restore may have been interrupted. */
  present(manifest: Manifest): Promise<SavedFile[]>;
  /** Returns the worktree of the stage that now has the entry's stage id; null if it has none, or its folder is gone. */
  worktreeFor(manifest: Manifest): Promise<string | null>;
  describe(manifest: Manifest): Promise<TrashEntry>;
}

export interface EntriesDeps {
  store: Store;
  platform: Platform;
  dataDir: string;
  /** Null where one machine has everything. */
  here: MachineId | null;
}

function createEntries({ store, platform, dataDir, here }: EntriesDeps): Entries {
  const root = join(dataDir, 'trash');
  const folderOf = (id: string) => join(root, id);
  const fileOf = (id: string, path: string) => join(root, id, 'files', path);
  const find = (id: string) => readManifest(folderOf(id), id);

  async function worktreeFor({ stageId, projectId }: Manifest): Promise<string | null> {
    const path = (await stageOf({ store, here }, { stageId, projectId }))?.worktree?.path ?? null;
    return path !== null && (await isThere(path)) ? path : null;
  }

  return {
    async all() {
      const found = await Promise.all((await readdir(root).catch(() => [])).map(find));
      return found.filter((manifest) => manifest !== null).toSorted((a, b) => b.at.localeCompare(a.at));
    },
    find,
    async create({ project, stage, by }, rest) {
      const id = platform.newWireId();
      const at = platform.now().toISOString();
      const keptAt = await store.transact((tx) => tx.clock.stamp(at));
      const whose = { projectId: project.id, projectName: project.name, stageId: stage.id, stageTitle: stage.title };
      const manifest: Manifest = { work: null, taking: null, ...rest, ...whose, id, at, keptAt, by };
      await mkdir(join(folderOf(id), 'files'), { recursive: true, mode: 0o700 });
      await writeManifest(folderOf(id), manifest);
      return manifest;
    },
    save: (manifest) => writeManifest(folderOf(manifest.id), manifest),
    remove: (id) => rm(folderOf(id), { recursive: true, force: true }),
    async takeIn({ id, files }, folder) {
      for (const { path } of files) {
        const isTaken = (await isThere(fileOf(id, path))) && !(await isThere(join(folder, path)));
        if (!isTaken) await moveFile(join(folder, path), fileOf(id, path));
      }
    },
    fileOf,
    async present({ id, files }) {
      const there = await Promise.all(files.map(({ path }) => isThere(fileOf(id, path))));
      return files.filter((_file, index) => there[index]);
    },
    worktreeFor,
    async describe(manifest) {
      const { files, keptAt, work, taking: _taking, ...facts } = manifest;
      const expiresAt = new Date(Date.parse(keptAt) + TRASH_RETENTION_DAYS * DAY_MS).toISOString();
      const bytes = files.reduce((total, file) => total + file.bytes, 0);
      const sizes = { fileCount: files.length, bytes, files: files.slice(0, NAMED_FILES) };
      const saved = work === null || work.commit === null ? null : { ...work, commit: work.commit };
      return TrashEntry.parse({
        ...facts,
        ...sizes,
        expiresAt,
        work: saved,
        worktree: await worktreeFor(manifest),
      });
    },
  };
}

/** The stage that now has an entry's stage id in its project; null if it was deleted, or its worktree is on another machine. */
async function stageOf(
  { store, here }: Pick<EntriesDeps, 'store' | 'here'>,
  { stageId, projectId }: { stageId: StageId; projectId: string },
): Promise<Stage | null> {
  const stage = await store.read.stages.find(stageId);
  return stage?.projectId === projectId && isOnMachine(stage, here) ? stage : null;
}

export const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/**
 * What becomes of a worktree that a machine had when it was lost. `own`: its stage goes on in it. `waits`: it can go on in it.
 * Otherwise nothing will ever work in it again.
 */
export type OrphanFate = 'own' | 'waits' | 'deleted' | 'done' | 'elsewhere';

/** @param stage null if it was deleted */
export function orphanFate({ machineId, worktree }: OrphanedWorktree, stage: Stage | null): OrphanFate {
  if (stage === null) return 'deleted';
  // By the names of folders: the data directory of a machine may move.
  const isIt = (at: MachineId | null, other: Worktree) =>
    at === machineId && basename(other.path) === basename(worktree.path);
  // Its start elsewhere is not complete before it has a worktree there.
  if (stage.worktree !== null) return isIt(stage.machineId, stage.worktree) ? 'own' : 'elsewhere';
  const { lost } = stage;
  if (lost !== null && lost.worktree !== null && !isIt(lost.machineId, lost.worktree)) return 'elsewhere';
  return stage.completedAt === null ? 'waits' : 'done';
}

/** Whether a stage's recorded worktree is on this machine. @param here null where one machine has everything */
export const isOnMachine = ({ machineId }: Pick<Stage, 'machineId'>, here: MachineId | null): boolean =>
  here === null || machineId === here;

const FILE = 'entry.json';

/** Whether the path stays below the folder. The manifest is not trusted. */
const isBelow = (path: string): boolean => !isAbsolute(path) && !path.split('/').includes('..') && path !== '';

/** The description of a trash entry, stored beside its files. */
export const Manifest = TrashEntry.omit({
  expiresAt: true,
  fileCount: true,
  bytes: true,
  worktree: true,
  work: true,
}).extend({
  /** The instant from which its age counts; never in the past, whatever the time of day says (docs/decisions/storage.md). */
  keptAt: z.iso.datetime(),
  files: z.array(SavedFile.extend({ path: z.string().refine(isBelow, 'leads out of the folder') })),
  /** `commit` is null until the ref points at it. */
  work: SavedWork.extend({
    ref: z.string().regex(/^refs\/callboard\/trash\/[\w/-]+$/),
    commit: z
      .string()
      .regex(/^[0-9a-f]+$/)
      .nullable(),
    repository: z.string(),
  })
    .nullable()
    .default(null),
  /**
   * The worktree that is just being taken away, by the name of its folder and the name that this gets; null once that is over.
   * Both are in the folder of the project's worktrees.
   */
  taking: z
    .object({ repository: z.string(), name: StageId, aside: z.string().regex(/^\.removed-[\w-]+$/) })
    .nullable()
    .default(null),
});
export type Manifest = z.infer<typeof Manifest>;

/** Returns null if there is no entry of that name or its manifest is incomplete; in that case no file was moved yet. */
async function readManifest(folder: string, id: string): Promise<Manifest | null> {
  try {
    const manifest = Manifest.parse(JSON.parse(await readFile(join(folder, FILE), 'utf8')));
    return manifest.id === id ? manifest : null;
  } catch {
    return null;
  }
}

/** Writes the manifest, in place of an earlier one at once. Resolves when it is on the disk. */
async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const path = join(folder, FILE);
  {
    await using file = await open(`${path}.new`, 'w', 0o600);
    await file.writeFile(JSON.stringify(manifest));
    await file.sync();
  }
  await rename(`${path}.new`, path);
  await using above = await open(folder, 'r');
  await above.sync();
}

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
async function restoreEntry(deps: RestoreDeps, manifest: Manifest, folder?: string): Promise<Restored> {
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
