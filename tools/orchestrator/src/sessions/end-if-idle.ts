import { awaitsTasks, type StageId } from '@callboard/contract';
import type { Signal } from '../lib/bell.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Launcher } from './launch/launcher.ts';
import type { RunningLaunch } from './launch/running-launch.ts';

export interface EndIfIdleDeps extends Pick<Launcher, 'launchIn'> {
  store: Store;
  outboxSignal: Signal<StageId>;
}

/** As `Sessions.endIfIdle`, for its running launch. */
export async function endIfIdle(
  { store, outboxSignal, launchIn }: EndIfIdleDeps,
  launch: RunningLaunch,
  reason: string,
): Promise<boolean> {
  const { stageId, id: launchId } = launch.executor.launch;
  /** The queue before the stop; null if the session is not idle. */
  const queued = await store.transact(async (tx) => {
    const record = await tx.sessions.find(stageId);
    if (record?.state !== 'idle' || record.launchId !== launchId || awaitsTasks(record)) return null;
    // Inserted in the transaction that sees the session idle, so that no turn can begin in between: later messages come
    // after this row, and return to the queue when the process ends.
    const row = { id: tx.newId(), stageId, launchId, wireId: tx.newWireId(), actor: null, createdAt: tx.now };
    await tx.outbox.insert({ ...row, body: { kind: 'control', request: { subtype: 'end_session' } } });
    tx.afterCommit(() => {
      launch.stop(reason, true).catch(() => undefined); // the caller, who waits for it below, gets the error
      outboxSignal.ring(stageId);
    });
    return new Set((await tx.outbox.queueOf(stageId)).map(({ id }) => id));
  });
  if (queued === null) return false;
  await launch.stop(reason);
  return store.transact(async (tx) => {
    const sent = (await tx.outbox.queueOf(stageId)).find(({ id }) => !queued.has(id));
    if (sent === undefined) return true;
    if ((await tx.sessions.find(stageId))?.launchId === null) await launchIn(tx, stageId, sent);
    return false;
  });
}

/**
 * Returns a function that tells what stands in the place of a stage's worktree, if a message would begin a turn there; null if the
 * worktree does. A message that joins a running turn changes nothing about where that works.
 */
export const createMisplacement =
  ({ store, worktrees }: { store: Pick<Store, 'read'>; worktrees: Pick<Worktrees, 'misplacement'> }) =>
  async (stageId: StageId): Promise<string | null> => {
    const [session, stage] = await Promise.all([store.read.sessions.find(stageId), store.read.stages.find(stageId)]);
    if (stage?.worktree == null || session?.turnBegun !== false) return null;
    const project = await store.read.projects.find(stage.projectId);
    return project === null ? null : worktrees.misplacement(project, stageId, stage.worktree);
  };

interface EndIfReplacedDeps {
  store: Pick<Store, 'read'>;
  worktrees: Pick<Worktrees, 'requireInPlace'>;
  sessions: { endIfIdle(stageId: StageId, reason: string): Promise<boolean> };
}

/**
 * Returns a function that ends an idle process whose worktree is not in its place: Claude Code runs commands by the path of its
 * folder, whatever stands there. The next message then starts a process, which is refused with the cause.
 */
export const createEndIfReplaced =
  ({ store, worktrees, sessions }: EndIfReplacedDeps) =>
  async (stageId: StageId): Promise<void> => {
    if ((await store.read.sessions.find(stageId))?.state !== 'idle') return;
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    if (stage?.worktree == null || project === null) return;
    try {
      worktrees.requireInPlace(project, stage.worktree);
    } catch {
      await sessions.endIfIdle(stageId, 'Ended because its worktree is not in its place.');
    }
  };
