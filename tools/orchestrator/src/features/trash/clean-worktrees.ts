import { readdir, realpath, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  type BuildFolders,
  type CommandReply,
  isChecking,
  type MachineId,
  NAMED_FILES,
  Project,
  type ProjectId,
  type Stage,
  StageId,
  type TrashEntry,
  type WorktreeCleanUp,
} from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { WorktreeRemoval } from '../../core/worktrees/remove-worktree.ts';
import { OperationalError, Rejection } from '../../lib/errors.ts';
import { run } from '../../platform/processes.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { OrphanedWorktree } from '../../store/ports/machine-port.ts';
import { requireProject, type Store } from '../../store/store.ts';
import { isOnMachine, isThere, type Manifest, orphanFate, type Trash } from './trash.ts';

export interface WorktreeCleaningDeps {
  store: Store;
  platform: Platform;
  log: Logger;
  dataDir: string;
  trash: Trash;
  worktrees: WorktreeRemoval;
  sizes: WorktreeSizes;
  /** Null where one machine has everything. */
  here: MachineId | null;
  /** Ends what runs in the worktree of a stage, and cleans it up. */
  cleanUp: (stageId: StageId) => Promise<void>;
}

/** Which worktree to clean up, and how. */
export interface CleanOrder {
  projectId: ProjectId;
  name: string;
  buildFolders: BuildFolders;
  by: string;
}

/** Takes worktrees away that nobody works in, and keeps what is neither committed nor merged. */
export interface WorktreeCleaning {
  /** Lists the worktrees of a project. @throws Rejection `unknown_project` */
  list(projectId: ProjectId): Promise<CommandReply<'get_worktrees'>>;
  /** Returns what `clean` would do now. @throws Rejection `unknown_project`, `unknown_worktree` */
  preview(projectId: ProjectId, name: string): Promise<WorktreeCleanUp>;
  /**
   * Takes a worktree away, at once for all others: it is whole, or gone with all its contents kept.
   * @throws Rejection `unknown_project`, `unknown_worktree`, `worktree_stays`; nothing was changed then
   */
  clean(order: CleanOrder): Promise<CommandReply<'clean_worktree'>>;
  /**
   * Takes a worktree away that this machine had when it was declared lost, as `clean` does; without the clean-up command of the
   * project, which knows worktrees of stages. Returns what went to the trash; `isThere` is false if its folder was gone already.
   * Where an earlier attempt has taken that away and failed then, it is brought to its end first.
   * @throws Rejection `worktree_stays`; OperationalError `worktree_failed`, `storage_failed`
   */
  cleanOrphaned(orphaned: OrphanedWorktree): Promise<{ isThere: boolean; kept: TrashEntry | null }>;
  /** Ends what a crash interrupted: what had not been taken away stays, the rest is brought to its end. Never rejects. */
  settle(): Promise<void>;
}

/** The folders of worktrees that were taken away and are being deleted. */
const ASIDE = '.removed-';

export function createWorktreeCleaning(deps: WorktreeCleaningDeps): WorktreeCleaning {
  const { trash, worktrees, sizes, log } = deps;
  const { list, one, orphanedOne, inUseReason } = createWorktreeFinder(deps);

  async function stayReason(found: Found): Promise<string | null> {
    return (await inUseReason(found)) ?? worktrees.stayReason({ repository: found.project.path, path: found.path });
  }

  async function take(
    found: Found,
    { buildFolders, by }: { buildFolders: BuildFolders; by: string | null },
  ): Promise<CommandReply<'clean_worktree'>> {
    requireFree(await stayReason(found), found);
    if (found.stage !== null && found.orphaned === null) {
      await deps.cleanUp(found.stage.id);
      requireFree(await stayReason(found), found);
    }
    const beside = await worktrees.filesBeside(found.project, found.path);
    const files = [...beside.files, ...(buildFolders === 'keep' ? beside.buildFolders : [])];
    const manifest = await announce(deps, found, { files, by });
    const kept = await trash.inTurn(manifest.id, () =>
      saveAndRemove(deps, manifest, async () => requireFree(await inUseReason(found), found)),
    );
    return { kept, deleted: buildFolders === 'delete' ? beside.buildFolders : [] };
  }

  // Of two that clean up the same worktree, the second finds it gone.
  const inTurn = <T>(projectId: ProjectId, name: string, work: () => Promise<T>) =>
    trash.inTurn(`${projectId}/${name}`, work);

  return {
    async list(projectId) {
      const found = await list(projectId);
      const paths = found.map(({ path }) => path);
      const isMeasuring = sizes.ask(paths);
      const worktrees = await Promise.all(
        found.map(async (one) => ({
          name: one.name,
          path: one.path,
          stays: await inUseReason(one),
          stageId: one.stage?.id ?? null,
          stageTitle: one.stage?.title ?? null,
          ...sizes.of(one.path),
        })),
      );
      return { worktrees, isMeasuring };
    },

    async preview(projectId, name) {
      const found = await one(projectId, name);
      const { project, path, stage } = found;
      const left = await stayReason(found);
      const nothing = { files: [], fileCount: 0, bytes: 0, buildFolders: [] };
      if (left !== null) return { path, left, work: null, ...nothing };
      const { head, ...work } = await worktrees.openWork({ repository: project.path, path });
      const { files, buildFolders } = await worktrees.filesBeside(project, path);
      const unmerged = isMerged(stage, head) ? 0 : work.unmerged;
      return {
        path,
        left,
        work: work.uncommitted + unmerged + work.earlier === 0 ? null : { ...work, unmerged },
        files: files.slice(0, NAMED_FILES),
        fileCount: files.length,
        buildFolders,
        bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      };
    },

    clean: ({ projectId, name, buildFolders, by }) =>
      inTurn(projectId, name, async () => take(await one(projectId, name), { buildFolders, by })),

    cleanOrphaned: (orphaned) =>
      inTurn(orphaned.projectId, basename(orphaned.worktree.path), async () => {
        const found = (await orphanedOne(orphaned)) ?? (await settleGone(deps, orphaned));
        if (found === null) return { isThere: false, kept: null };
        // Nobody said that dependency and build folders may go for good.
        return { isThere: true, kept: (await take(found, { buildFolders: 'keep', by: null })).kept };
      }),

    async settle() {
      for (const manifest of await trash.entries.all()) {
        if (manifest.taking === null) continue;
        await settleOne(deps, manifest).catch((error: unknown) =>
          log.error({ err: error, id: manifest.id }, 'an interrupted clean-up of a worktree could not be settled'),
        );
      }
      void deleteLeft(deps).catch((error: unknown) => log.warn({ err: error }, 'worktrees were not deleted'));
    },
  };
}

function requireFree(reason: string | null, { name, path }: Found): void {
  if (reason === null) return;
  const namesIt = reason.includes(path);
  throw new Rejection('worktree_stays', namesIt ? reason : `The worktree ${name} was not cleaned up. ${reason}`);
}

const isMerged = (stage: Stage | null, head: string): boolean => stage?.merged != null && stage.merged.head === head;

/** Stores what is going to happen, before it does. */
async function announce(
  { trash, worktrees, platform }: WorktreeCleaningDeps,
  { project, stage, name, path, orphaned }: Found,
  { files, by }: { files: Manifest['files']; by: string | null },
): Promise<Manifest> {
  const repository = project.path;
  const { head, ...work } = await worktrees.openWork({ repository, path });
  const unmerged = isMerged(stage, head) ? 0 : work.unmerged;
  const whose = stage ?? orphanedStage(orphaned) ?? { id: StageId.parse(name), title: name }; // its folder says whose it was
  const origin = { project, stage: whose, by };
  const at = platform.now().toISOString().replaceAll(/[:.]/g, '-');
  const ref = `refs/callboard/trash/${name.replaceAll(/[^A-Za-z0-9_-]/g, '-')}/${at}`;
  return trash.entries.create(origin, {
    files,
    work: { ...work, unmerged, ref, commit: null, repository },
    taking: { repository, name: StageId.parse(name), aside: `${ASIDE}${at}` },
  });
}

const orphanedStage = (orphaned: OrphanedWorktree | null): Pick<Stage, 'id' | 'title'> | null =>
  orphaned === null ? null : { id: orphaned.stageId, title: orphaned.stageTitle };

/** Returns where the worktree of an entry is, and where it is put aside; null if none is being taken away. */
async function locationOf(
  { dataDir }: Pick<WorktreeCleaningDeps, 'dataDir'>,
  { projectId, taking }: Manifest,
): Promise<{ repository: string; path: string; aside: string } | null> {
  if (taking === null) return null;
  // Git lists worktrees by their real paths.
  const folder = await realpath(join(dataDir, 'worktrees', projectId));
  const { repository, name, aside } = taking;
  return { repository, path: join(folder, name), aside: join(folder, aside) };
}

/** @param mayTake called last, before the worktree is taken away. @throws Rejection if it must stay */
async function saveAndRemove(
  deps: WorktreeCleaningDeps,
  announced: Manifest,
  mayTake: () => Promise<void>,
): Promise<TrashEntry | null> {
  const { trash, worktrees } = deps;
  const { work } = announced;
  const taking = await locationOf(deps, announced);
  if (taking === null || work === null) throw new Error('nothing was announced');
  let manifest = announced;
  try {
    const message = `Work of ${announced.stageId} (${announced.stageTitle}), kept when its worktree was cleaned up`;
    const saved = await worktrees.save({ path: taking.path }, { ref: work.ref, message, repository: work.repository });
    const unreadable = saved.leftOut.filter(({ reason }) => reason === 'unreadable').map(({ path }) => path);
    if (unreadable.length > 0)
      throw new Rejection('worktree_stays', `Git cannot read ${unreadable.slice(0, 5).join(', ')} in ${taking.path}.`);
    const isOpen = saved.isDirty || work.unmerged > 0 || saved.earlier > 0;
    if (!isOpen) await worktrees.dropSaved(work.repository, work.ref, saved.commit);
    manifest = { ...announced, work: isOpen ? { ...work, commit: saved.commit } : null };
    await trash.entries.save(manifest);
    await mayTake();
    await noteCleanedUp(deps, announced);
    await rename(taking.path, taking.aside);
  } catch (error) {
    await settleOne(deps, manifest);
    throw error;
  }
  return finish(deps, manifest).catch((error: unknown) => {
    const message = `The worktree ${taking.path} was taken away, but not everything has reached the trash yet (${messageOf(error)}). The rest is in ${taking.aside}; the next start of Callboard goes on with it.`;
    throw new OperationalError('storage_failed', message, { cause: error });
  });
}

/** Notes that nobody has to miss the worktree: the next start of its stage makes it again. */
async function noteCleanedUp({ store, here }: WorktreeCleaningDeps, { stageId, projectId, taking }: Manifest) {
  await store.transact(async (tx) => {
    const stage = await tx.stages.find(stageId);
    const worktree = stage?.projectId === projectId ? stage.worktree : null;
    if (stage === null || worktree === null || !isOnMachine(stage, here)) return;
    if (basename(worktree.path) !== taking?.name) return;
    const updated = { ...stage, worktree: { ...worktree, isCleanedUp: true }, updatedAt: tx.now };
    await tx.stages.update(updated);
    await tx.emit({ type: 'stage-updated', data: { stageId, stage: updated } });
  });
}

/** Brings it to its end. Each step may have been done before. @returns the entry; null if nothing was kept */
async function finish(deps: WorktreeCleaningDeps, manifest: Manifest): Promise<TrashEntry | null> {
  const { trash, worktrees, log } = deps;
  const { files, work, id } = manifest;
  const taking = await locationOf(deps, manifest);
  if (taking === null) throw new Error('nothing is being taken away');
  const left = await Promise.all(files.map(({ path }) => isThere(join(taking.aside, path))));
  await trash.entries.takeIn({ ...manifest, files: files.filter((_file, index) => left[index]) }, taking.aside);
  await worktrees.forget(taking);
  const isEmpty = files.length === 0 && work === null;
  const done = { ...manifest, taking: null };
  await (isEmpty ? trash.entries.remove(id) : trash.entries.save(done));
  void rm(taking.aside, { recursive: true, force: true }).catch((error: unknown) =>
    log.warn({ err: error, folder: taking.aside }, 'a worktree that was taken away was not deleted'),
  );
  return isEmpty ? null : trash.entries.describe(done);
}

/** Undoes what had only been kept; brings to its end what had been taken away. */
async function settleOne(deps: WorktreeCleaningDeps, manifest: Manifest): Promise<void> {
  const { work, id } = manifest;
  const taking = await locationOf(deps, manifest);
  if (taking === null) return;
  const commit = work === null ? null : await deps.worktrees.commitOf(work.repository, work.ref);
  if ((await isThere(taking.aside)) || !(await isThere(taking.path))) {
    // Its folder may have been deleted by hand before the commit was noted.
    await finish(deps, { ...manifest, work: work === null || commit === null ? null : { ...work, commit } });
    return;
  }
  if (work !== null && commit !== null) await deps.worktrees.dropSaved(work.repository, work.ref, commit);
  await deps.trash.entries.remove(id);
}

/** Brings to its end what an earlier attempt had taken away, and could not bring to its end. The worktree is gone then. */
async function settleGone(deps: WorktreeCleaningDeps, { projectId, worktree }: OrphanedWorktree): Promise<null> {
  for (const manifest of await deps.trash.entries.all()) {
    if (manifest.projectId !== projectId || manifest.taking?.name !== basename(worktree.path)) continue;
    await deps.trash.inTurn(manifest.id, () => settleOne(deps, manifest));
  }
  return null;
}

/** Deletes what an earlier run had taken away and not deleted yet. */
async function deleteLeft({ dataDir, trash }: WorktreeCleaningDeps): Promise<void> {
  const open = new Set((await trash.entries.all()).map(({ taking }) => taking?.aside));
  const root = join(dataDir, 'worktrees');
  for (const project of await readdir(root).catch(() => []))
    for (const name of await readdir(join(root, project)).catch(() => [])) {
      if (name.startsWith(ASIDE) && !open.has(name))
        await rm(join(root, project, name), { recursive: true, force: true });
    }
}

/** The folder of a worktree, and whose it is. */
export interface Found {
  project: Project;
  /** Null if its stage was deleted. */
  stage: Stage | null;
  name: string;
  path: string;
  /** Set if this machine had it when it was declared lost, and its stage has not gone on in it. */
  orphaned: OrphanedWorktree | null;
}

/** The worktrees that Callboard made, as they are on the disk. */
export interface WorktreeFinder {
  /** @throws Rejection `unknown_project` */
  list(projectId: ProjectId): Promise<Found[]>;
  /** @throws Rejection `unknown_project`, `unknown_worktree` */
  one(projectId: ProjectId, name: string): Promise<Found>;
  /** Returns the folder of a orphaned worktree of this machine; null if it is gone. Its project may be gone, too. */
  orphanedOne(orphaned: OrphanedWorktree): Promise<Found | null>;
  /** Returns why nobody may take it away, as far as the store knows; null if they may. */
  inUseReason(found: Found): Promise<string | null>;
}

export interface FinderDeps {
  store: Store;
  dataDir: string;
  /** Null where one machine has everything. */
  here: MachineId | null;
}

function createWorktreeFinder({ store, dataDir, here }: FinderDeps): WorktreeFinder {
  async function list(projectId: ProjectId): Promise<Found[]> {
    const project = await requireProject(store.read, projectId);
    const folder = await realpath(join(dataDir, 'worktrees', projectId)).catch(() => null);
    if (folder === null) return [];
    const stages = (await store.read.stages.list()).filter((stage) => stage.projectId === projectId);
    const orphaned = here === null ? [] : await store.read.orphanedWorktrees.listOf(here);
    const left = orphaned.filter((one) => one.projectId === projectId && one.isRecorded && !one.isTaken);
    const entries = await readdir(folder, { withFileTypes: true });
    // Callboard names them after their stages.
    const names = entries.filter((entry) => entry.isDirectory() && StageId.safeParse(entry.name).success);
    return names.map(({ name }): Found => {
      const path = join(folder, name);
      // Machines may have the same paths.
      const stage = stages.find((one) => one.worktree?.path === path && isOnMachine(one, here));
      if (stage !== undefined) return { project, name, path, stage, orphaned: null };
      const was = left.find((one) => nameOf(one) === name) ?? null;
      const itsStage = was === null ? undefined : stages.find(({ id }) => id === was.stageId);
      return { project, name, path, stage: itsStage ?? null, orphaned: was };
    });
  }

  const stageOf = async ({ stageId, projectId }: OrphanedWorktree): Promise<Stage | null> => {
    const stage = await store.read.stages.find(stageId);
    return stage?.projectId === projectId ? stage : null;
  };

  return {
    list,
    async one(projectId, name) {
      const found = (await list(projectId)).find((one) => one.name === name);
      if (found !== undefined) return found;
      throw new Rejection('unknown_worktree', `There is no worktree ${name}. It may have been cleaned up already.`);
    },
    async orphanedOne(orphaned) {
      const name = nameOf(orphaned);
      const path = await realpath(join(dataDir, 'worktrees', orphaned.projectId, name)).catch(() => null);
      if (path === null) return null;
      const known = await store.read.projects.find(orphaned.projectId);
      const project = known ?? projectOf(orphaned);
      // A machine that was removed from the list has lost its place, not its repository.
      const repository = orphaned.repository ?? project.path;
      return { project: { ...project, path: repository }, name, path, stage: await stageOf(orphaned), orphaned };
    },
    async inUseReason({ stage, orphaned }) {
      if (orphaned !== null) return orphanInUseReason(orphaned, await stageOf(orphaned));
      if (stage === null) return null;
      const session = await store.read.sessions.find(stage.id);
      if (session !== null && session.launchId !== null) return `${stage.id} has a running session.`;
      if (session !== null && isChecking(session)) return `A check of ${stage.id} is running.`;
      const { completedAt } = (await store.read.stages.find(stage.id)) ?? stage;
      return completedAt === null ? `${stage.id} is not done.` : null;
    },
  };
}

/** The folder of the data directory may have moved. */
const nameOf = ({ worktree }: OrphanedWorktree): string => basename(worktree.path);

function orphanInUseReason(orphaned: OrphanedWorktree, stage: Stage | null): string | null {
  const fate = orphanFate(orphaned, stage);
  if (fate === 'own') return `${orphaned.stageId} goes on in it.`;
  return fate === 'waits'
    ? `${orphaned.stageId} was interrupted when its machine was lost, and can go on in it until it is started on another machine.`
    : null;
}

/** A project that was removed after its stages. */
const projectOf = ({ projectId, projectName, repository }: OrphanedWorktree): Project =>
  Project.parse({
    id: projectId,
    name: projectName,
    path: repository ?? '',
    settings: {},
    createdAt: new Date(0).toISOString(),
  });

/** How large worktrees are. A program of its own measures them, one after another, so that nothing waits for it. */
export interface WorktreeSizes {
  of(path: string): { bytes: number | null; measuredAt: string | null };
  /** Measures those whose size is unknown or old, in the background. @returns whether any is still to be measured */
  ask(paths: readonly string[]): boolean;
  /** Ends the measuring. */
  stop(): Promise<void>;
}

/** After this long a size is measured again when somebody asks for it. */
const OLD_MS = 10 * 60_000;
/** A worktree with millions of files takes minutes. */
const LIMIT_MS = 5 * 60_000;

export interface WorktreeSizesDeps {
  env: Readonly<Record<string, string>>;
  now: () => Date;
  uptimeMs: () => number;
}

export function createWorktreeSizes({ env, now, uptimeMs }: WorktreeSizesDeps): WorktreeSizes {
  const known = new Map<string, { bytes: number | null; measuredAt: string; uptimeMs: number }>();
  const wanted = new Set<string>();
  const stopping = new AbortController();
  let work: Promise<void> | null = null;

  async function measure(): Promise<void> {
    for (const path of wanted) {
      const job = { command: 'du', args: ['-sk', path], env: { ...env, LC_ALL: 'C' }, timeoutMs: LIMIT_MS };
      const { stdout, wasKilled } = await run(job, stopping.signal);
      if (stopping.signal.aborted) return;
      // A file that vanished meanwhile makes it fail with a sum all the same.
      const kilobytes = wasKilled ? null : /^(\d+)\s/.exec(stdout)?.[1];
      const bytes = kilobytes == null ? null : Number(kilobytes) * 1024;
      known.set(path, { bytes, measuredAt: now().toISOString(), uptimeMs: uptimeMs() });
      wanted.delete(path);
    }
    work = null;
  }

  return {
    of(path) {
      const { bytes = null, measuredAt = null } = known.get(path) ?? {};
      return { bytes, measuredAt };
    },
    ask(paths) {
      for (const path of paths) {
        const measured = known.get(path);
        if (measured === undefined || uptimeMs() - measured.uptimeMs > OLD_MS) wanted.add(path);
      }
      if (wanted.size > 0 && !stopping.signal.aborted) work ??= measure();
      return wanted.size > 0;
    },
    async stop() {
      stopping.abort();
      await work;
    },
  };
}

export interface TrashCommandDeps {
  trash: Trash;
  cleaning: WorktreeCleaning;
}

type TrashCommands = 'get_trash' | 'restore_trash' | 'get_worktrees' | 'get_worktree_clean_up' | 'clean_worktree';

export const trashCommands = ({ trash, cleaning }: TrashCommandDeps): Pick<CommandHandlers, TrashCommands> => ({
  get_trash: async () => ({ entries: await trash.list() }),
  restore_trash: ({ trashId, folder }) => trash.restore(trashId, folder),
  get_worktrees: ({ projectId }) => cleaning.list(projectId),
  get_worktree_clean_up: async ({ projectId, name }) => ({ cleanUp: await cleaning.preview(projectId, name) }),
  clean_worktree: ({ buildFolders = 'keep', ...which }, { actor }) =>
    cleaning.clean({ ...which, buildFolders, by: actor.name }),
});
