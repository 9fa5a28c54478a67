import type { Stage, StageId, TrashEntry } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { type OrphanFate, orphanFate } from '../domain/former-worktree.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';
import { createRetryTimer } from '../lib/retry-timer.ts';
import type { OrphanedWorktree } from '../store/ports/machine-tables.ts';
import { retryWhileStoreFails } from '../store/retry-until-stored.ts';
import { isStorageFailure } from '../store/storage-failure.ts';
import type { Store } from '../store/store.ts';
import type { WorktreeCleaning } from '../trash/clean-worktrees.ts';
import type { Trash } from '../trash/trash.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Membership } from './join-machines.ts';
import { noticeOrphaned } from './keep-former-work.ts';
import type { StartContext } from './start-context.ts';

interface RecoveryDeps {
  /** With the stages of all machines. */
  store: Store;
  cleaning: Pick<WorktreeCleaning, 'cleanOrphaned'>;
  trash: Pick<Trash, 'list'>;
  worktrees: Pick<Worktrees, 'dropTurns'>;
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
  membership: Membership | null,
  deps: RecoveryDeps,
): void {
  if (membership === null) return;
  const settling = { ...deps, membership };
  const { log, life } = context;
  const { store } = deps;
  const { here } = membership.claims;
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

  const worker = createCoalescingWorker(
    () => retryWhileStoreFails({ log, signal: stopped.signal }, pass),
    (error) => {
      if (!stopped.signal.aborted) log.error({ err: error }, 'taking former worktrees away failed');
    },
  );
  const unlisten = [
    store.onEvent(({ type, data }) => {
      if (type !== 'stage-updated' && type !== 'stage-removed') return;
      if (watched === null || watched.has(data.stageId)) worker.schedule();
    }),
    store.onEpoch(worker.schedule),
  ];
  life.onStop('former worktrees', async () => {
    for (const stop of unlisten) stop();
    stopped.abort();
    await worker.stop();
    again.stop();
  });
  worker.schedule();
}

/** @returns false if it should go, and could not */
async function settle(
  { log }: StartContext,
  deps: RecoveryDeps & { membership: Membership },
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
  { store, membership }: RecoveryDeps & { membership: Membership },
  orphaned: OrphanedWorktree,
  reason: string,
): Promise<void> {
  if (orphaned.told === reason) return;
  const name = await membership.machines.nameOf(membership.claims.here);
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
  trash: RecoveryDeps['trash'],
  { stageId, projectId }: OrphanedWorktree,
): Promise<TrashEntry | null> {
  const entries = await trash.list();
  return entries.find((one) => one.stageId === stageId && one.projectId === projectId && one.by === null) ?? null;
}

async function recoveredText(
  { machines, claims }: Membership,
  {
    fate,
    stage,
    entry,
    wasGone,
  }: { fate: OrphanFate; stage: Stage | null; entry: TrashEntry | null; wasGone: boolean },
): Promise<string> {
  const name = await machines.nameOf(claims.here);
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
