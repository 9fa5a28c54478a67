import { lstat, mkdir, readdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import {
  type CommandReply,
  type KeptFile,
  NAMED_FILES,
  type Project,
  type Stage,
  TrashEntry,
} from '@callboard/contract';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import type { Edges } from '../lib/edges.ts';
import { OperationalError, Rejection } from '../lib/errors.ts';
import { createKeyedMutex } from '../lib/keyed-mutex.ts';
import type { Logger } from '../lib/logger.ts';
import { moveFile } from '../lib/move-file.ts';
import type { Store } from '../store/store.ts';
import { type Manifest, readManifest, writeManifest } from './manifest.ts';

/** How long an entry stays, in days while Callboard runs (decision 029). */
const KEEP_TRASH_DAYS = 30;
const DAY_MS = 24 * 3_600_000;

export interface TrashParts {
  store: Store;
  edges: Edges;
  log: Logger;
  dataDir: string;
}

/** The stage that the files belonged to, and who removed it. */
export interface Origin {
  project: Project;
  stage: Stage;
  by: string | null;
}

/** Files of removed worktrees, in `<data-dir>/trash`, one folder for each removal. */
export interface Trash {
  /**
   * Moves files, with paths relative to the folder, into a new entry. Files moved before a failure stay in the entry.
   * @throws a system error
   */
  keep(folder: string, files: readonly KeptFile[], origin: Origin): Promise<TrashEntry>;
  /** Lists the entries, newest first. */
  list(): Promise<TrashEntry[]>;
  /**
   * Moves the files of an entry into a folder and deletes the entry. Without a folder: into the stage's worktree, or into a
   * new folder if there is none.
   * @throws Rejection `unknown_trash`, `would_overwrite`, `bad_request`; nothing was moved then
   * @throws OperationalError `storage_failed`; files that were not restored are still in the trash
   */
  restore(id: string, folder?: string): Promise<CommandReply<'restore_trash'>>;
  /** Permanently deletes entries from before this instant. */
  forgetOlder(instant: string): Promise<void>;
}

export function createTrash({ store, edges, log, dataDir }: TrashParts): Trash {
  const root = join(dataDir, 'trash');
  const turns = createKeyedMutex();
  const folderOf = (id: string) => join(root, id);
  const filesOf = (id: string) => join(root, id, 'files');

  async function entries(): Promise<Manifest[]> {
    const names = await readdir(root).catch(() => []);
    const found = await Promise.all(names.map((name) => readManifest(folderOf(name), name)));
    return found.filter((manifest) => manifest !== null).toSorted((a, b) => b.at.localeCompare(a.at));
  }

  /** Returns the worktree of the stage that now has the entry's stage id; null if there is none. */
  async function worktreeFor({ stageId, projectId }: Manifest): Promise<string | null> {
    const stage = await store.read.stages.find(stageId);
    const path = stage?.projectId === projectId ? (stage.worktree?.path ?? null) : null;
    return path !== null && (await isThere(path)) ? path : null;
  }

  async function toEntry(manifest: Manifest): Promise<TrashEntry> {
    const { files, keptAt, ...facts } = manifest;
    const expiresAt = new Date(Date.parse(keptAt) + KEEP_TRASH_DAYS * DAY_MS).toISOString();
    const sizes = { fileCount: files.length, bytes: sum(files), files: files.slice(0, NAMED_FILES) };
    return TrashEntry.parse({ ...facts, ...sizes, expiresAt, worktree: await worktreeFor(manifest) });
  }

  /** Returns the files that are still in the entry; an earlier restore may have been interrupted. */
  async function present(manifest: Manifest): Promise<KeptFile[]> {
    const there = await Promise.all(manifest.files.map(({ path }) => isThere(join(filesOf(manifest.id), path))));
    return manifest.files.filter((_file, index) => there[index]);
  }

  async function restore(id: string, folder?: string): Promise<CommandReply<'restore_trash'>> {
    const manifest = await readManifest(folderOf(id), id);
    if (manifest === null) throw new Rejection('unknown_trash', 'This entry is no longer in the trash.');
    if (folder !== undefined && !isAbsolute(folder))
      throw new Rejection('bad_request', `${folder} is not an absolute path. Give one that begins with "/".`);
    const own = join(dataDir, 'restored', `${manifest.stageId}-${id.slice(0, 8)}`);
    const target = folder ?? (await worktreeFor(manifest)) ?? own;
    const files = await present(manifest);
    await requireFree(target, files);
    try {
      await mkdir(target, { recursive: true });
      for (const { path } of files) await requireInside(target, dirname(join(target, path)));
      for (const { path } of files) await moveFile(join(filesOf(id), path), join(target, path));
      await rm(folderOf(id), { recursive: true, force: true });
    } catch (error) {
      throw cannotRestore(target, error);
    }
    return { folder: target, files: files.slice(0, NAMED_FILES), fileCount: files.length };
  }

  return {
    async keep(folder, files, { project, stage, by }) {
      const id = edges.newWireId();
      const at = edges.now().toISOString();
      const keptAt = await store.transact((tx) => tx.clock.stamp(at));
      const names = { projectName: project.name, stageTitle: stage.title };
      const whose = { projectId: project.id, stageId: stage.id, ...names };
      const manifest: Manifest = { id, at, keptAt, by, ...whose, files: [...files] };
      await mkdir(filesOf(id), { recursive: true, mode: 0o700 });
      // Before the moves, so that every moved file is listed even after a crash.
      await writeManifest(folderOf(id), manifest);
      for (const { path } of files) await moveFile(join(folder, path), join(filesOf(id), path));
      return { ...(await toEntry(manifest)), worktree: null };
    },
    list: async () => Promise.all((await entries()).map(toEntry)),
    restore: (id, folder) => turns(id, () => restore(id, folder)),
    async forgetOlder(instant) {
      for (const { id, keptAt } of await entries()) {
        if (keptAt >= instant) continue;
        await turns(id, () => rm(folderOf(id), { recursive: true, force: true }));
        log.info({ id }, 'old trash entry deleted');
      }
    },
  };
}

const sum = (files: readonly KeptFile[]): number => files.reduce((total, { bytes }) => total + bytes, 0);

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** How many of the conflicting files an error names. */
const NAMED = 5;

async function requireFree(target: string, files: readonly KeptFile[]): Promise<void> {
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
