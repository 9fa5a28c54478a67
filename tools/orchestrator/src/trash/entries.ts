import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type MachineId,
  NAMED_FILES,
  type Project,
  type SavedFile,
  type Stage,
  type StageId,
  TrashEntry,
} from '@callboard/contract';
import { isOnMachine } from '../domain/former-worktree.ts';
import type { Platform } from '../lib/edges.ts';
import { moveFile } from '../lib/move-file.ts';
import type { Store } from '../store/store.ts';
import { type Manifest, readManifest, writeManifest } from './manifest.ts';

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

export function createEntries({ store, platform, dataDir, here }: EntriesDeps): Entries {
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
export async function stageOf(
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
