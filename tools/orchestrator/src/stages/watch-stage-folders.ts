import { type FSWatcher, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Project, ProjectId, StageFolder } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { expandHome } from '../lib/expand-home.ts';
import type { Logger } from '../lib/logger.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';
import type { Store } from '../store/store.ts';
import type { StageImports } from './import-stages.ts';

export interface StageFoldersDeps {
  store: Store;
  log: Logger;
  imports: Pick<StageImports, 'follow'>;
  home: string;
  /** How long a folder must be quiet before it is read. An editor writes a file in several steps. */
  quietMs?: number;
  /** Whether this machine watches the folders of a project: one of those that have it does. */
  mayWatch?: ((projectId: ProjectId) => boolean) | undefined;
}

const QUIET_MS = 500;

/** A folder with more subfolders is not watched: each needs a watch of the system, which are few. */
const MAX_FOLDERS = 200;
const TOO_MANY = `It has more than ${MAX_FOLDERS} folders, so it is not watched. Watch a smaller one.`;

/**
 * Watches the folders that projects name, and takes over what changes in them. Nothing is polled: the system tells. A folder that
 * is missing is waited for in the folder above it.
 * @returns how to stop
 */
export function startStageFolders(deps: StageFoldersDeps): () => Promise<void> {
  const { store, log, mayWatch = () => true } = deps;
  const watched = new Map<string, WatchedFolder>();

  /** Begins and ends watching as the projects say. */
  async function reconcile(): Promise<void> {
    const projects = (await store.read.projects.list()).filter(({ id }) => mayWatch(id));
    const wanted = new Map(
      projects.flatMap((project) =>
        project.settings.stageFolders.map((path) => [keyOf(project.id, path), { project, path }]),
      ),
    );
    for (const [key, folder] of watched) {
      if (wanted.has(key)) continue;
      watched.delete(key);
      await folder.stop();
    }
    for (const [key, { project, path }] of wanted)
      if (!watched.has(key)) watched.set(key, watchFolder(deps, project, path));
    for (const { id } of projects) await forgetOthers(store, id);
  }

  const changes = createCoalescingWorker(reconcile, (error) =>
    log.error({ err: error }, 'watching folders of stages failed'),
  );
  const unlisten = store.onEvent(({ type }) => {
    if (CAUSES.has(type)) changes.schedule();
  });
  changes.schedule();
  return async () => {
    unlisten();
    await changes.stop();
    await Promise.all([...watched.values()].map((folder) => folder.stop()));
  };
}

/** Another machine watches once the one that did is lost, and that one again when it is back. */
const CAUSES: ReadonlySet<string> = new Set([
  ...['project-updated', 'project-removed'],
  ...['machine-updated', 'machine-removed'],
]);

const keyOf = (projectId: ProjectId, path: string): string => `${projectId} ${path}`;

interface WatchedFolder {
  stop(): Promise<void>;
}

function watchFolder(
  { store, log, imports, home, quietMs = QUIET_MS }: StageFoldersDeps,
  project: Project,
  path: string,
): WatchedFolder {
  const folder = resolve(project.path, expandHome(path, home));
  let watchers: FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;

  function close(): void {
    for (const watcher of watchers) watcher.close();
    watchers = [];
  }

  /** The watches stand before the files are read, so that no change falls between. */
  async function pass(): Promise<void> {
    const folders = await foldersToWatch(folder);
    close();
    const problems = folders === null ? [`${folder}: ${TOO_MANY}`] : folders.flatMap((one) => begin(one));
    const updates = await imports.follow(project.id, path);
    await saveUpdates(store, project.id, path, { ...updates, problems: [...problems, ...updates.problems] });
  }

  function begin(one: string): string[] {
    try {
      const watcher = watch(one, { persistent: false }, changed);
      watcher.on('error', changed); // the folder is gone
      watchers.push(watcher);
      return [];
    } catch (error) {
      return [`${one} is not watched: ${messageOf(error)}`];
    }
  }

  /** Many changes are one pass: it begins when the folder has been quiet. */
  function changed(): void {
    clearTimeout(timer);
    timer = setTimeout(worker.schedule, quietMs);
  }

  const worker = createCoalescingWorker(pass, (error) =>
    log.warn({ err: error, folder }, 'reading a folder of stages failed'),
  );
  worker.schedule();
  return {
    async stop() {
      clearTimeout(timer);
      await worker.stop();
      clearTimeout(timer);
      close();
    },
  };
}

/** Returns the folder with its subfolders, or the nearest one above it that exists; null if there are too many. */
async function foldersToWatch(folder: string): Promise<string[] | null> {
  const found: string[] = [];
  const next = [folder];
  for (let one = next.pop(); one !== undefined; one = next.pop()) {
    const entries = await readdir(one, { withFileTypes: true }).catch(() => null);
    if (entries === null) continue; // gone, or a file
    found.push(one);
    if (found.length > MAX_FOLDERS) return null;
    next.push(...entries.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name)));
  }
  const above = dirname(folder);
  return found.length > 0 || above === folder ? found : ((await foldersAbove(above)) ?? []);
}

async function foldersAbove(folder: string): Promise<string[] | null> {
  const isThere = await readdir(folder).then(
    () => true,
    () => false,
  );
  const above = dirname(folder);
  return isThere || above === folder ? [folder] : foldersAbove(above);
}

type Updates = Omit<StageFolder, 'path' | 'at'>;

/** Stores what a pass found, if it is new. */
async function saveUpdates(store: Store, projectId: ProjectId, path: string, updates: Updates): Promise<void> {
  await store.transact(async (tx) => {
    const project = await tx.projects.find(projectId);
    if (project === null || !project.settings.stageFolders.includes(path)) return;
    const before = project.stageFolders.find((one) => one.path === path);
    if (before !== undefined && JSON.stringify(updatesOf(before)) === JSON.stringify(updates)) return;
    const others = project.stageFolders.filter((one) => one.path !== path);
    const updated = { ...project, stageFolders: [...others, { path, at: tx.now, ...updates }] };
    await tx.projects.save(updated);
    await tx.emit({ type: 'project-updated', data: { projectId, project: updated } });
  });
}

const updatesOf = ({ problems, removed, kept }: StageFolder): Updates => ({ problems, removed, kept });

/** Forgets what was found in folders that are watched no more. */
async function forgetOthers(store: Store, projectId: ProjectId): Promise<void> {
  const isWatched = ({ settings }: Project, { path }: StageFolder) => settings.stageFolders.includes(path);
  const project = await store.read.projects.find(projectId);
  if (project === null || project.stageFolders.every((one) => isWatched(project, one))) return;
  await store.transact(async (tx) => {
    const found = await tx.projects.find(projectId);
    if (found === null) return;
    const updated = { ...found, stageFolders: found.stageFolders.filter((one) => isWatched(found, one)) };
    await tx.projects.save(updated);
    await tx.emit({ type: 'project-updated', data: { projectId, project: updated } });
  });
}
