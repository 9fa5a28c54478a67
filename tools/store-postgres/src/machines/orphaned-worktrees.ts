import { basename, join, sep } from 'node:path';
import { LaunchId, type MachineId, type Stage, type StageId, type TrashEntry } from '@callboard/contract';
import {
  addNotice,
  changeSession,
  launchesIn,
  type Notice,
  type OrphanFate,
  orphanFate,
  type RecoveryDeps,
  type StartContext,
  type Worktrees,
} from '@callboard/orchestrator/machines';
import { isStorageFailure } from '@callboard/orchestrator/storage-error';
import {
  createRetryTimer,
  dataDirLayout,
  endMarked,
  findMarkedProcesses,
  type OrphanedWorktree,
  onEvents,
  pathExists,
  retryWhileStoreFails,
  type Store,
  type Tx,
} from '@callboard/orchestrator/store';
import { messageOf } from '@callboard/runtime/errors';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { SharingMachines } from './machines.ts';

/** This machine, which may have been declared lost. */
export interface ReturningMachine {
  readonly here: MachineId;
  machines: Pick<SharingMachines, 'nameOf'>;
  /** Somebody had declared it lost, and it has not kept the work of its former stages since; also if it was removed from the list. */
  wasLost: boolean;
  /** The epoch of its lease, with which it may write. */
  epoch: number;
}

interface OrphanedRecovery extends RecoveryDeps {
  /** With the stages of all machines. */
  store: Store;
}

/** When one that could not go is tried again, first and at most: another git may have been at work there for a moment. */
const PAUSES = { firstMs: 3_000, maxMs: 600_000 };

/**
 * Takes the worktrees away that this machine had when it was declared lost, each once nothing can go on in it any more: its stage
 * was started elsewhere, is done, or was deleted. Does so now, for what happened while this machine was away, whenever such a
 * stage changes, and less and less often as long as one cannot go.
 */
export function recoverOrphanedWorktrees(
  context: StartContext,
  membership: ReturningMachine,
  deps: OrphanedRecovery,
): void {
  const settling = { ...deps, membership };
  const { log, life } = context;
  const { store } = deps;
  const { here } = membership;
  const stopped = new AbortController();
  /** The stages whose orphaned worktrees this machine has; null until they were read. */
  let watched: ReadonlySet<StageId> | null = null;
  const again = createRetryTimer<StageId>(() => worker.schedule(), PAUSES);

  async function pass(): Promise<void> {
    const all = (await store.read.orphanedWorktrees.listOf(here)).filter(({ isRecorded }) => isRecorded);
    watched = new Set(all.map(({ stageId }) => stageId));
    const staying = new Set<StageId>();
    for (const orphaned of all) {
      stopped.signal.throwIfAborted();
      if (!(await settle(context, settling, orphaned))) staying.add(orphaned.stageId);
    }
    again.attempted(staying);
  }

  const worker = createReconciler(
    () => retryWhileStoreFails({ log, signal: stopped.signal }, pass),
    (error) => {
      if (!stopped.signal.aborted) log.error({ err: error }, 'taking former worktrees away failed');
    },
    {
      on: (schedule) => [
        onEvents(store, ['stage-updated', 'stage-removed'], ({ data }) => {
          if (watched === null || watched.has(data.stageId)) schedule();
        }),
        store.onEpoch(schedule),
      ],
    },
  );
  life.onStop('former worktrees', async () => {
    stopped.abort();
    await worker.stop();
    again.stop();
  });
  worker.schedule();
}

/** @returns false if it should go, and could not */
async function settle(
  { log }: StartContext,
  deps: OrphanedRecovery & { membership: ReturningMachine },
  orphaned: OrphanedWorktree,
): Promise<boolean> {
  const { store, cleaning, trash, worktrees } = deps;
  const { stageId, projectId, repository } = orphaned;
  const found = await store.read.stages.find(stageId);
  const stage = found?.projectId === projectId ? found : null;
  const fate = orphanFate(orphaned, stage);
  if (fate === 'waits') return true;
  if (fate === 'own') {
    await store.transact((tx) => tx.orphanedWorktrees.remove(orphaned));
    return true;
  }
  try {
    if (!orphaned.isTaken) {
      const { isThere, kept } = await cleaning.cleanOrphaned(orphaned);
      const entry = isThere ? kept : await entryOf(trash, orphaned);
      const text = await recoveredText(deps.membership, { fate, stage, entry, wasGone: !isThere && entry === null });
      await note(store, { ...orphaned, isTaken: true, told: null }, text);
      log.info({ stageId, path: orphaned.worktree.path, fate, trashId: entry?.id }, 'a former worktree was taken away');
    }
    if (fate !== 'deleted') return true;
    if (repository !== null) await worktrees.dropTurns({ path: repository }, stageId);
    await store.transact((tx) => tx.orphanedWorktrees.remove(orphaned));
    return true;
  } catch (error) {
    // Whatever else keeps this one there must not keep the others.
    if (isStorageFailure(error)) throw error;
    log.warn({ err: error, stageId }, 'a former worktree stays');
    await reportWhyKept(deps, orphaned, messageOf(error));
    return false;
  }
}

/** Once for each reason. */
async function reportWhyKept(
  { store, membership }: OrphanedRecovery & { membership: ReturningMachine },
  orphaned: OrphanedWorktree,
  reason: string,
): Promise<void> {
  if (orphaned.told === reason) return;
  const name = await membership.machines.nameOf(membership.here);
  const { path } = orphaned.worktree;
  const where = reason.includes(path) ? '' : `, ${path}`;
  await note(
    store,
    { ...orphaned, told: reason },
    `${name} still has its old worktree of this stage${where}. ${reason}`,
  );
}

const note = (store: Store, orphaned: OrphanedWorktree, text: string): Promise<void> =>
  store.transact(async (tx) => {
    await tx.orphanedWorktrees.save(orphaned);
    await noticeOrphaned(tx, orphaned.stageId, { code: 'old-worktree', text });
  });

/** A crash may have come between taking it away and saying so. */
async function entryOf(
  trash: OrphanedRecovery['trash'],
  { stageId, projectId }: OrphanedWorktree,
): Promise<TrashEntry | null> {
  const entries = await trash.list();
  return entries.find((one) => one.stageId === stageId && one.projectId === projectId && one.by === null) ?? null;
}

async function recoveredText(
  { machines, here }: ReturningMachine,
  {
    fate,
    stage,
    entry,
    wasGone,
  }: { fate: OrphanFate; stage: Stage | null; entry: TrashEntry | null; wasGone: boolean },
): Promise<string> {
  const name = await machines.nameOf(here);
  if (wasGone)
    return `${name} no longer has a worktree of this stage: its folder is gone, and Callboard did not remove it.`;
  const elsewhere = stage?.machineId ?? null;
  const other = elsewhere === null ? null : await machines.nameOf(elsewhere).catch(() => null);
  const why = fate === 'done' ? 'is done' : `was started on ${other ?? 'another machine'}`;
  return `${name} has removed its old worktree of this stage because the stage ${why}. ${savedText(name, entry)}`;
}

function savedText(name: string, entry: TrashEntry | null): string {
  if (entry === null) return 'It had no unmerged work.';
  const counts = [
    [entry.work?.uncommitted ?? 0, 'uncommitted file', 'uncommitted files'],
    [entry.work?.unmerged ?? 0, 'commit that is not merged', 'commits that are not merged'],
    [entry.fileCount, 'file or folder that git ignores', 'files or folders that git ignores'],
  ] as const;
  const named = counts.flatMap(([count, one, many]) => (count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]));
  return `Its contents stay in the trash of ${name} until ${entry.expiresAt.slice(0, 10)}: ${named.join(', ')}. Open the board at ${name} to restore it.`;
}

interface OrphanedDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'snapshotTurn' | 'findAbandonedWorktrees'>;
  membership: ReturningMachine;
}

/** A stage that was taken from this machine while it was away. */
interface Orphaned {
  stageId: StageId;
  /** Its worktree here, if it had one that was not kept yet. */
  worktree: OrphanedWorktree | null;
  /** The launches of which processes run here. */
  running: LaunchId[];
}

/**
 * After a machine was declared lost and comes back: keeps the files of each stage that was taken from it on a ref, uncommitted
 * ones with them, then ends their processes, and says in their transcripts what was found. A stage that fails keeps its
 * processes from nothing: they are ended all the same.
 */
export async function saveOrphanedWork(context: StartContext, deps: OrphanedDeps): Promise<void> {
  const { membership, ...others } = deps;
  await findUnrecorded(context, { ...others, here: membership.here });
  if (!membership.wasLost) return;
  for (const orphaned of await findOrphaned(context, deps)) await saveOne(context, deps, orphaned);
  await endDeleted(context, others.store);
  // Not before: whoever is killed in between begins again at the next start.
  const { here, epoch } = membership;
  await others.store.transact((tx) => tx.machines.savedOrphanedWork(here, epoch));
}

async function findOrphaned({ config }: StartContext, { store, membership }: OrphanedDeps): Promise<Orphaned[]> {
  const { here } = membership;
  const worktrees = (await store.read.orphanedWorktrees.listOf(here)).filter(
    ({ isRecorded, isKept, isTaken }) => isRecorded && !isKept && !isTaken,
  );
  const marked = await findMarkedProcesses();
  const found: Orphaned[] = worktrees.map((worktree) => ({ stageId: worktree.stageId, worktree, running: [] }));
  for (const stage of await store.read.stages.list()) {
    if (stage.machineId === here) continue;
    const launches = await store.read.launches.listOf(stage.id);
    // Another Callboard on this machine may have the stage by now.
    const own = launches.filter(({ folder }) => folder.startsWith(`${config.dataDir}${sep}`));
    const running = own.map(({ id }) => id).filter((id) => marked.has(id));
    const known = found.find(({ stageId }) => stageId === stage.id);
    if (known !== undefined) known.running = running;
    else if (running.length > 0 || stage.lost?.machineId === here)
      found.push({ stageId: stage.id, worktree: null, running });
  }
  return found;
}

/** Ends what runs of stages that were deleted while this machine was lost: the store knows their launches no more, their folders are here. */
async function endDeleted({ config, limits, log }: StartContext, store: Store): Promise<void> {
  const marked = await findMarkedProcesses();
  const here = (await launchesIn(dataDirLayout(config.dataDir).sessions)).flatMap(
    ({ launchId }) => LaunchId.safeParse(launchId).data ?? [],
  );
  const running = here.filter((id) => marked.has(id));
  const found = await Promise.all(running.map((id) => store.read.launches.find(id)));
  const unknown = running.filter((_, index) => found[index] === null);
  if (unknown.length === 0) return;
  log.warn({ launchIds: unknown }, 'ending the processes of stages that were deleted while this machine was lost');
  await endMarked(unknown, limits.graces.signalMs);
}

async function saveOne(
  context: StartContext,
  { store, worktrees, membership }: OrphanedDeps,
  { stageId, worktree, running }: Orphaned,
) {
  const { here, machines } = membership;
  const name = await machines.nameOf(here);
  const saved = worktree === null ? NO_WORKTREE : await saveFiles(context, worktrees, worktree);
  const marked = await findMarkedProcesses();
  const count = running.flatMap((id) => marked.get(id) ?? []).length;
  await endMarked(running, context.limits.graces.signalMs);
  const ended =
    count === 0
      ? 'None of its processes were still running there.'
      : `${count} of its processes ran there, and were ended.`;
  await store.transact(async (tx) => {
    if (worktree !== null) await tx.orphanedWorktrees.save({ ...worktree, isKept: true });
    await noticeOrphaned(tx, stageId, { code: 'machine-back', text: `${name} is back. ${saved} ${ended}` });
  });
}

const NO_WORKTREE = 'It has no worktree there any more.';

/** Returns what became of the files, in words. */
async function saveFiles(
  { log, platform, config }: StartContext,
  worktrees: OrphanedDeps['worktrees'],
  { stageId, projectId, worktree }: OrphanedWorktree,
): Promise<string> {
  // The data directory may have moved.
  const path = join(config.dataDir, 'worktrees', projectId, basename(worktree.path));
  if (!(await pathExists(path))) return NO_WORKTREE;
  try {
    const turn = { stageId, name: `lost-${platform.now().toISOString()}` };
    const { commit } = await worktrees.snapshotTurn({ ...worktree, path }, turn);
    return `Its files there, including uncommitted ones, are kept as the commit ${commit}.`;
  } catch (error) {
    log.error({ err: error, stageId }, 'the work of a former stage was not kept');
    return `Its files there are in ${path}; they could not be kept in git as well: ${messageOf(error)}`;
  }
}

/** Says in the transcript of a stage what a machine found that it was taken from; does nothing if the stage was deleted. */
async function noticeOrphaned(tx: Tx, stageId: StageId, notice: Omit<Notice, 'level'>): Promise<void> {
  if ((await tx.sessions.find(stageId)) === null) return;
  await changeSession(tx, stageId, (change) => addNotice(change, tx.now, { level: 'warning', ...notice }));
}

interface FindingDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'findAbandonedWorktrees'>;
  here: MachineId;
}

/**
 * On a machine that was declared lost and is back: finds out which worktrees it had made for stages whose first start there was
 * cut off before it was recorded, and records them. What cannot be found out now is tried again at the next start.
 * @throws OperationalError `storage_failed`
 */
export async function findUnrecorded({ log }: Pick<StartContext, 'log'>, deps: FindingDeps): Promise<void> {
  const all = await deps.store.read.orphanedWorktrees.listOf(deps.here);
  for (const orphaned of all.filter(({ isRecorded }) => !isRecorded)) {
    try {
      await record(deps, orphaned);
    } catch (error) {
      if (isStorageFailure(error)) throw error;
      log.error({ err: error, stageId: orphaned.stageId }, 'it was not found out what a start had made');
    }
  }
}

async function record({ store, worktrees, here }: FindingDeps, orphaned: OrphanedWorktree): Promise<void> {
  const { stageId, projectId, repository } = orphaned;
  const found = repository === null ? [] : await worktrees.findAbandonedWorktrees({ repository, projectId, stageId });
  const known = await knownNames(store, here);
  const left = found.filter(({ path }) => !known.has(basename(path)));
  await store.transact(async (tx) => {
    await tx.orphanedWorktrees.remove(orphaned);
    for (const worktree of left) await tx.orphanedWorktrees.save({ ...orphaned, worktree, isRecorded: true });
  });
}

/** The names of folders that belong to a stage, or of which it is known to whom they belonged. */
async function knownNames({ read }: Store, here: MachineId): Promise<Set<string>> {
  const names = new Set<string>();
  for (const { machineId, worktree } of await read.stages.list())
    if (machineId === here && worktree !== null) names.add(basename(worktree.path));
  for (const { worktree, isRecorded } of await read.orphanedWorktrees.listOf(here))
    if (isRecorded) names.add(basename(worktree.path));
  return names;
}
