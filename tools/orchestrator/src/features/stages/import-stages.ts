import { type FSWatcher, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { NamedPipeline, Project, ProjectId, Stage, StageFolder, StageId } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { createReconciler } from '@callboard/runtime/reconciler';
import {
  newStage,
  type PipelineSource,
  type PipelinesFor,
  refusePin,
  requirePipeline,
} from '../../core/session/stages.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { Rejection } from '../../lib/errors.ts';
import { expandHome } from '../../platform/files.ts';
import type { Logger } from '../../platform/runtime.ts';
import { onEvents, requireProject, type Store, type Tx } from '../../store/store.ts';
import {
  CONSENT_KEYS,
  importFailed,
  PLAIN_KEYS,
  parseStageFiles,
  readStageFiles,
  requirePins,
  requireStartPoints,
  type StageFile,
} from './stage-file.ts';

/** Unknown keys in a file's frontmatter. */
interface IgnoredKeys {
  file: string;
  keys: string[];
}

/** What a pass over a watched folder found. */
export type FolderUpdate = Pick<StageFolder, 'problems' | 'removed' | 'kept'>;

/** Imports stages from Markdown files, one stage each. */
export interface StageImports {
  /**
   * Imports a folder with its subfolders, or one file. Creates new stages, and updates stages that were imported before
   * and have not been started. All or nothing.
   * @throws Rejection `unknown_project`; `import_failed`, which lists every problem
   */
  run(
    projectId: ProjectId,
    path: string,
  ): Promise<{ ids: StageId[]; created: number; updated: number; ignored: IgnoredKeys[] }>;
  /**
   * Takes over what has changed in a folder since it was last taken over, and nothing else: what somebody wrote here stays until
   * the file itself changes. A broken file changes nothing, and neither do files that do not fit together.
   * @throws Rejection `unknown_project`; a system error
   */
  follow(projectId: ProjectId, path: string): Promise<FolderUpdate>;
}

interface ImportDeps {
  home: string;
  store: Store;
  worktrees: Pick<Worktrees, 'requireStartPoint'>;
  pipelinesFor: PipelinesFor;
  /** As `StagesDeps.requireMachine`. */
  requireMachine?: ((pin: string) => Promise<void>) | undefined;
}

export function createStageImports({
  store,
  worktrees,
  home,
  pipelinesFor,
  requireMachine = refusePin,
}: ImportDeps): StageImports {
  /** Stores the changed files. All of them must fit together, also those that have not changed. */
  async function takeOver(project: Project, files: readonly StageFile[], changed: readonly StageFile[]): Promise<void> {
    if (changed.length === 0) return;
    await requireStartPoints({ store, worktrees }, project, changed);
    const pipelines = await pipelinesNamedIn({ store, pipelinesFor }, project.id, changed);
    await store.transact(async (tx) => {
      const known = new Map((await tx.stages.list()).map((stage) => [stage.id, stage]));
      requireSound(project, files, known);
      for (const file of changed) await save(tx, project, { file, pipeline: pipelines.get(file) }, known.get(file.id));
    });
  }

  return {
    async run(projectId, path) {
      const project = await requireProject(store.read, projectId);
      const files = await readStageFiles(resolve(project.path, expandHome(path, home)));
      await requireStartPoints({ store, worktrees }, project, files);
      await requirePins({ store, requireMachine }, files);
      const pipelines = await pipelinesNamedIn({ store, pipelinesFor }, projectId, files);
      return store.transact(async (tx) => {
        const known = new Map((await tx.stages.list()).map((stage) => [stage.id, stage]));
        requireSound(project, files, known);
        let created = 0;
        for (const file of files)
          if (await save(tx, project, { file, pipeline: pipelines.get(file) }, known.get(file.id))) created += 1;
        const ignored = files
          .filter(({ unknownKeys }) => unknownKeys.length > 0)
          .map((file) => ({ file: file.path, keys: file.unknownKeys }));
        return { ids: files.map(({ id }) => id), created, updated: files.length - created, ignored };
      });
    },

    async follow(projectId, path) {
      const project = await requireProject(store.read, projectId);
      const folder = resolve(project.path, expandHome(path, home));
      const updates: FolderUpdate = { problems: [], removed: [], kept: [] };
      const stages = (await store.read.stages.list()).filter((stage) => stage.projectId === projectId);
      try {
        const found = await parseStageFiles(folder);
        updates.problems.push(...found.problems);
        const there = new Set([...found.stages.map((file) => file.path), ...found.broken]);
        for (const { source } of stages)
          if (source?.startsWith(`${folder}/`) && !there.has(source)) updates.removed.push(source);
        const signs = new Map(stages.map(({ id, sourceSign }) => [id, sourceSign]));
        updates.kept.push(...(await savedOf(store, found.stages)));
        const changed = found.stages.filter(({ id, sign }) => signs.get(id) !== sign).map(withoutConsent);
        await takeOver(project, found.stages, changed);
      } catch (error) {
        if (!(error instanceof Rejection)) throw error;
        updates.problems.push(...error.message.split('\n').slice(1));
      }
      return updates;
    },
  };
}

/**
 * Nobody looks when a watched file changes, for example because somebody else's commits were fetched. So what lets Claude begin, act
 * or finish unasked is taken from a file only when a person imports it; and so is the machine, which says whose account and
 * files Claude works with.
 */
const withoutConsent = (file: StageFile): StageFile => ({
  ...file,
  ...Object.fromEntries(CONSENT_KEYS.map((key) => [key, undefined])),
});

/** Returns the started stages whose file no longer says what they began with. */
async function savedOf(store: Store, files: readonly StageFile[]): Promise<StageId[]> {
  const saved: StageId[] = [];
  for (const { id, title, prompt } of files) {
    const stage = await store.read.stages.find(id);
    if (stage === null || (stage.title === title && stage.prompt === prompt)) continue;
    if (stage.completedAt === null && (await store.read.sessions.find(id)) !== null) saved.push(id);
  }
  return saved;
}

/** Returns the pipelines that the files name, each as the commit has it at which the file's stage begins. */
async function pipelinesNamedIn(
  { store, pipelinesFor }: Pick<ImportDeps, 'store' | 'pipelinesFor'>,
  projectId: ProjectId,
  files: readonly StageFile[],
): Promise<ReadonlyMap<StageFile, NamedPipeline>> {
  const found = new Map<StageFile, NamedPipeline>();
  const sources = new Map<string, PipelineSource>();
  const problems: string[] = [];
  for (const file of files) {
    if (file.pipeline === undefined) continue;
    const known = await store.read.stages.find(file.id);
    const start = { base: file.base ?? known?.base ?? null, worktree: known?.worktree ?? null };
    const key = start.worktree?.base ?? start.base ?? '';
    const source = sources.get(key) ?? (await pipelinesFor(projectId, start));
    sources.set(key, source);
    try {
      found.set(file, requirePipeline(source, file.pipeline));
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      problems.push(`${file.path}: pipeline: ${error.message}`);
    }
  }
  if (problems.length > 0) throw importFailed(problems);
  return found;
}

function requireSound(project: Project, files: readonly StageFile[], known: ReadonlyMap<string, Stage>): void {
  const byId = new Map<string, StageFile>();
  const problems: string[] = [];
  for (const file of files) {
    const twin = byId.get(file.id);
    if (twin !== undefined) problems.push(`${file.id} is in two files: ${twin.path} and ${file.path}`);
    byId.set(file.id, file);
    const other = known.get(file.id);
    if (other !== undefined && other.projectId !== project.id) {
      const where = other.source ?? `written in the browser for the project ${other.projectId}`;
      problems.push(`${file.id} of ${file.path} is already a stage of another project: ${where}`);
    } else if (other !== undefined && other.source === null) {
      problems.push(`${file.id} of ${file.path} is already a stage that was written in the browser`);
    }
  }
  for (const file of files) {
    const missing = file.dependsOn.filter((id) => !byId.has(id) && !known.has(id));
    if (missing.length > 0)
      problems.push(`${file.path}: depends on ${missing.join(', ')}, which is neither in this folder nor on the board`);
  }
  if (problems.length > 0) throw importFailed(problems);
  const cycle = findCycle(files, known);
  if (cycle !== null) throw importFailed([`These stages depend on each other in a circle: ${cycle.join(' -> ')}`]);
}

function findCycle(files: readonly StageFile[], known: ReadonlyMap<string, Stage>): string[] | null {
  const platform = new Map<string, readonly string[]>([...known].map(([id, stage]) => [id, stage.dependsOn]));
  for (const file of files) platform.set(file.id, file.dependsOn);
  const finished = new Set<string>();
  function visit(id: string, trail: string[]): string[] | null {
    if (trail.includes(id)) return [...trail.slice(trail.indexOf(id)), id];
    if (finished.has(id)) return null;
    for (const next of platform.get(id) ?? []) {
      const cycle = visit(next, [...trail, id]);
      if (cycle !== null) return cycle;
    }
    finished.add(id);
    return null;
  }
  for (const file of files) {
    const cycle = visit(file.id, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

/** Saves a stage. Returns true if it is new. A stage that was started keeps its fields, except that it can become done. */
async function save(
  tx: Tx,
  project: Project,
  { file, pipeline }: { file: StageFile; pipeline: NamedPipeline | undefined },
  before: Stage | undefined,
): Promise<boolean> {
  const { id, title, prompt, dependsOn, machine = before?.machine ?? null } = file;
  const fields = {
    ...Object.fromEntries(PLAIN_KEYS.flatMap((key) => (file[key] == null ? [] : [[key, file[key]]]))),
    ...(pipeline !== undefined && { pipeline: pipeline.phases }),
    title,
    prompt,
    dependsOn,
    finish: file.finish === undefined ? (pipeline?.finish ?? before?.finish ?? null) : file.finish,
    machine,
    source: file.path,
    sourceSign: file.sign,
    updatedAt: tx.now,
  };
  if (before === undefined) {
    const completedAt = file.isDone ? tx.now : null;
    const stage = newStage({ ...fields, id, projectId: project.id, completedAt }, tx.now);
    await tx.stages.insert(stage);
    await tx.emit({ type: 'stage-created', data: { stageId: stage.id, stage } });
    return true;
  }
  const wasStarted = (await tx.sessions.find(before.id)) !== null;
  const completedAt = before.completedAt ?? (file.isDone ? tx.now : null);
  const stage = wasStarted ? { ...before, sourceSign: file.sign, completedAt } : { ...before, ...fields, completedAt };
  await tx.stages.update(stage);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage } });
  return false;
}

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

  // Another machine watches once the one that did is lost, and that one again when it is back.
  const causes = ['project-updated', 'project-removed', 'machine-updated', 'machine-removed'] as const;
  const changes = createReconciler(
    reconcile,
    (error) => log.error({ err: error }, 'watching folders of stages failed'),
    { on: (schedule) => [onEvents(store, causes, schedule)] },
  );
  changes.schedule();
  return async () => {
    await changes.stop();
    await Promise.all([...watched.values()].map((folder) => folder.stop()));
  };
}

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

  const worker = createReconciler(pass, (error) =>
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
