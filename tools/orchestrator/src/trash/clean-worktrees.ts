import { readdir, realpath, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  type BuildFolders,
  type CommandReply,
  type MachineId,
  NAMED_FILES,
  type ProjectId,
  type Stage,
  StageId,
  type TrashEntry,
  type WorktreeCleanUp,
} from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { isOnMachine } from '../domain/former-worktree.ts';
import type { Platform } from '../lib/edges.ts';
import { OperationalError, Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { OrphanedWorktree } from '../store/ports/machine-tables.ts';
import type { Store } from '../store/store.ts';
import type { WorktreeRemoval } from '../worktrees/taking-away.ts';
import { isThere } from './entries.ts';
import { createWorktreeFinder, type Found } from './find-worktrees.ts';
import type { Manifest } from './manifest.ts';
import type { Trash } from './trash.ts';
import type { WorktreeSizes } from './worktree-sizes.ts';

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
