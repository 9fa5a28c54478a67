import type { Stage, StageId, TrashEntry } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { type FormerFate, formerFate } from '../domain/former-worktree.ts';
import { createNudgedWorker } from '../lib/nudged-worker.ts';
import { createRetryTimer } from '../lib/retry-timer.ts';
import type { FormerWorktree } from '../store/ports/machine-tables.ts';
import { retryWhileStoreFails } from '../store/retry-until-stored.ts';
import { isStorageFailure } from '../store/storage-failure.ts';
import type { Store } from '../store/store.ts';
import type { WorktreeCleaning } from '../trash/clean-worktrees.ts';
import type { Trash } from '../trash/trash.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Membership } from './join-machines.ts';
import { tellFormer } from './keep-former-work.ts';
import type { StartContext } from './start-context.ts';

interface TakingParts {
  /** With the stages of all machines. */
  store: Store;
  cleaning: Pick<WorktreeCleaning, 'cleanFormer'>;
  trash: Pick<Trash, 'list'>;
  worktrees: Pick<Worktrees, 'dropTurns'>;
}

/** When one that could not go is tried again, first and at most: another git may have been at work there for a moment. */
const PAUSES = { firstMs: 3_000, longestMs: 600_000 };

/**
 * Takes the worktrees away that this machine had when it was declared lost, each once nothing can go on in it any more: its stage
 * was started elsewhere, is done, or was deleted. Does so now, for what happened while this machine was away, whenever such a
 * stage changes, and less and less often as long as one cannot go.
 */
export function takeFormerWorktrees(context: StartContext, membership: Membership | null, parts: TakingParts): void {
  if (membership === null) return;
  const settling = { ...parts, membership };
  const { log, life } = context;
  const { store } = parts;
  const { here } = membership.claims;
  const stopped = new AbortController();
  /** The stages whose former worktrees this machine has; null until they were read. */
  let watched: ReadonlySet<StageId> | null = null;
  const again = createRetryTimer<StageId>(() => worker.nudge(), PAUSES);

  async function pass(): Promise<void> {
    const all = (await store.read.formerWorktrees.listOf(here)).filter(({ isRecorded }) => isRecorded);
    watched = new Set(all.map(({ stageId }) => stageId));
    const staying = new Set<StageId>();
    for (const former of all) {
      stopped.signal.throwIfAborted();
      if (!(await settle(context, settling, former))) staying.add(former.stageId);
    }
    again.attempted(staying);
  }

  const worker = createNudgedWorker(
    () => retryWhileStoreFails({ log, signal: stopped.signal }, pass),
    (error) => {
      if (!stopped.signal.aborted) log.error({ err: error }, 'taking former worktrees away failed');
    },
  );
  const unlisten = [
    store.onEvent(({ type, data }) => {
      if (type !== 'stage-updated' && type !== 'stage-removed') return;
      if (watched === null || watched.has(data.stageId)) worker.nudge();
    }),
    store.onEpoch(worker.nudge),
  ];
  life.onStop('former worktrees', async () => {
    for (const stop of unlisten) stop();
    stopped.abort();
    await worker.stop();
    again.stop();
  });
  worker.nudge();
}

/** @returns false if it should go, and could not */
async function settle(
  { log }: StartContext,
  parts: TakingParts & { membership: Membership },
  former: FormerWorktree,
): Promise<boolean> {
  const { store, cleaning, trash, worktrees } = parts;
  const { stageId, projectId, repository } = former;
  const found = await store.read.stages.find(stageId);
  const stage = found?.projectId === projectId ? found : null;
  const fate = formerFate(former, stage);
  if (fate === 'waits') return true;
  if (fate === 'own') {
    await store.transact((tx) => tx.formerWorktrees.remove(former));
    return true;
  }
  try {
    if (!former.isTaken) {
      const { isThere, kept } = await cleaning.cleanFormer(former);
      const entry = isThere ? kept : await entryOf(trash, former);
      const text = await takenWords(parts.membership, { fate, stage, entry, wasGone: !isThere && entry === null });
      await note(store, { ...former, isTaken: true, told: null }, text);
      log.info({ stageId, path: former.worktree.path, fate, trashId: entry?.id }, 'a former worktree was taken away');
    }
    if (fate !== 'deleted') return true;
    if (repository !== null) await worktrees.dropTurns({ path: repository }, stageId);
    await store.transact((tx) => tx.formerWorktrees.remove(former));
    return true;
  } catch (error) {
    // Whatever else keeps this one there must not keep the others.
    if (isStorageFailure(error)) throw error;
    log.warn({ err: error, stageId }, 'a former worktree stays');
    await tellWhyItStays(parts, former, messageOf(error));
    return false;
  }
}

/** Once for each reason. */
async function tellWhyItStays(
  { store, membership }: TakingParts & { membership: Membership },
  former: FormerWorktree,
  reason: string,
): Promise<void> {
  if (former.told === reason) return;
  const name = await membership.machines.nameOf(membership.claims.here);
  const { path } = former.worktree;
  const where = reason.includes(path) ? '' : `, ${path}`;
  await note(store, { ...former, told: reason }, `${name} still has its old worktree of this stage${where}. ${reason}`);
}

const note = (store: Store, former: FormerWorktree, text: string): Promise<void> =>
  store.transact(async (tx) => {
    await tx.formerWorktrees.save(former);
    await tellFormer(tx, former.stageId, { code: 'old-worktree', text });
  });

/** A crash may have come between taking it away and saying so. */
async function entryOf(
  trash: TakingParts['trash'],
  { stageId, projectId }: FormerWorktree,
): Promise<TrashEntry | null> {
  const entries = await trash.list();
  return entries.find((one) => one.stageId === stageId && one.projectId === projectId && one.by === null) ?? null;
}

async function takenWords(
  { machines, claims }: Membership,
  {
    fate,
    stage,
    entry,
    wasGone,
  }: { fate: FormerFate; stage: Stage | null; entry: TrashEntry | null; wasGone: boolean },
): Promise<string> {
  const name = await machines.nameOf(claims.here);
  if (wasGone)
    return `${name} no longer has a worktree of this stage: its folder is gone, and Callboard did not remove it.`;
  const elsewhere = stage?.machineId ?? null;
  const other = elsewhere === null ? null : await machines.nameOf(elsewhere).catch(() => null);
  const why = fate === 'done' ? 'is done' : `was started on ${other ?? 'another machine'}`;
  return `${name} has removed its old worktree of this stage because the stage ${why}. ${keptWords(name, entry)}`;
}

function keptWords(name: string, entry: TrashEntry | null): string {
  if (entry === null) return 'It had no unmerged work.';
  const counts = [
    [entry.work?.uncommitted ?? 0, 'uncommitted file', 'uncommitted files'],
    [entry.work?.unmerged ?? 0, 'commit that is not merged', 'commits that are not merged'],
    [entry.fileCount, 'file or folder that git ignores', 'files or folders that git ignores'],
  ] as const;
  const named = counts.flatMap(([count, one, many]) => (count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]));
  return `Its contents stay in the trash of ${name} until ${entry.expiresAt.slice(0, 10)}: ${named.join(', ')}. Open the board at ${name} to restore it.`;
}
