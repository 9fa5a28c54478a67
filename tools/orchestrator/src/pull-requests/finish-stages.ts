import {
  boardView,
  type FinishWay,
  isActive,
  isReview,
  type StageId,
  type StageReview,
  type StageView,
} from '@callboard/contract';
import { isStagePaused } from '../domain/holds.ts';
import type { Logger } from '../lib/logger.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';
import { isStorageFailure } from '../store/storage-failure.ts';
import type { Store } from '../store/store.ts';
import { draftCommitMessage } from './draft.ts';
import type { PullRequests } from './pull-requests.ts';
import { problemOf } from './refusal.ts';
import { changeStage } from './save-pull-request.ts';

export interface FinishDeps {
  store: Store;
  log: Logger;
  /** Returns how the stage's project finishes its stages. */
  projectWay: (stageId: StageId) => Promise<FinishWay>;
  pullRequests: Pick<PullRequests, 'plan' | 'open'>;
  /** Merges the stage's work, uncommitted work with this message as well, and completes the stage. */
  merge: (stageId: StageId, message: string, actor: string) => Promise<void>;
  /** How long to wait before stages are looked at again that could not be finished because the store failed. */
  retryMs: number;
}

const ACTOR = 'Callboard';

/**
 * Finishes stages by themselves after their last gate, where a person wanted that: once for each turn that ended well. A refusal
 * is stored with its cause, and the stage needs somebody; a failure of the store is no refusal, and is retried.
 * @returns how to stop
 */
export async function finishStages(deps: FinishDeps): Promise<() => Promise<void>> {
  const { store, log } = deps;
  const finishIfDue = createFinishing(deps);
  const due = new Set<StageId>();
  /** The store failed while they were looked at or finished. */
  const again = new Set<StageId>();
  let timer: NodeJS.Timeout | undefined;
  let isAllDue = true;

  async function pass(): Promise<void> {
    if (isAllDue) for (const { stageId } of await store.read.sessions.list()) due.add(stageId);
    isAllDue = false;
    for (const stageId of due) {
      due.delete(stageId);
      try {
        await finishIfDue(stageId);
      } catch (error) {
        log.error({ err: error, stageId }, 'finishing a stage failed');
        if (isStorageFailure(error)) again.add(stageId);
      }
    }
    if (again.size > 0) timer ??= setTimeout(checkAgain, deps.retryMs).unref();
  }

  function checkAgain(): void {
    timer = undefined;
    for (const stageId of again) due.add(stageId);
    again.clear();
    passes.schedule();
  }

  const passes = createCoalescingWorker(pass, (error) => log.error({ err: error }, 'finishing stages failed'));
  const check = (stageId: StageId): void => {
    due.add(stageId);
    passes.schedule();
  };
  const checkAll = (): void => {
    isAllDue = true;
    passes.schedule();
  };
  const unlisten = store.onEvent(({ type, data }) => {
    if (type === 'session-updated' && !isActive(data.state) && data.lastTurn !== null) check(data.stageId);
    if (type === 'stage-updated' && data.stage.completedAt === null && data.stage.worktree !== null)
      check(data.stageId);
    if (type === 'holds-updated') checkAll();
  });
  checkAll();
  return () => {
    unlisten();
    clearTimeout(timer);
    return passes.stop();
  };
}

/** Finishes a stage, if it is due. @throws what the store throws; a refusal is stored instead */
function createFinishing(deps: FinishDeps) {
  const { store, log } = deps;

  async function finish(stage: StageView, way: Exclude<FinishWay, 'none'>, turn: string): Promise<void> {
    const { id: stageId } = stage;
    try {
      if (way === 'merge') await merge(stage, turn);
      else await openPullRequest(stage, turn);
    } catch (error) {
      if (isStorageFailure(error)) throw error;
      log.info({ err: error, stageId, way }, 'stage not finished by itself');
      await refuse(stageId, way, turn, error);
    }
  }

  async function merge(stage: StageView, turn: string): Promise<void> {
    await saveMerge(stage, turn, 'under-way');
    await deps.merge(stage.id, draftCommitMessage(stage), ACTOR);
    await saveMerge(stage, turn, 'done');
  }

  const saveMerge = (stage: StageView, turn: string | null, state: 'under-way' | 'done') =>
    store.transact((tx) =>
      changeStage(tx, stage.id, () => ({
        finishing: { way: 'merge', by: ACTOR, turn, order: null, problem: null, state, at: tx.now },
      })),
    );

  async function openPullRequest(stage: StageView, turn: string): Promise<void> {
    const { head, tree, uncommittedCount } = await deps.pullRequests.plan(stage.id);
    const commit = uncommittedCount > 0 ? { commit: { message: draftCommitMessage(stage) } } : {};
    await deps.pullRequests.open(stage.id, { head, tree, ...commit }, { by: ACTOR, turn });
  }

  const refuse = (stageId: StageId, way: 'merge' | 'pull-request', turn: string, error: unknown) =>
    store.transact((tx) =>
      changeStage(tx, stageId, ({ finishing }) => ({
        finishing: {
          way,
          state: 'refused',
          by: ACTOR,
          turn,
          at: tx.now,
          problem: problemOf(error),
          order: finishing?.turn === turn ? finishing.order : null,
        },
      })),
    );

  return async (stageId: StageId): Promise<void> => {
    const stage = boardView(await store.boardOf(stageId)).stages.find(({ id }) => id === stageId);
    if (stage === undefined) return;
    if (isMergedUnsaid(stage)) return void (await saveMerge(stage, stage.finishing?.turn ?? null, 'done'));
    const turn = turnToFinish(stage);
    if (turn === null || (await isStagePaused(store.read, stageId))) return;
    const way = stage.finish ?? (await deps.projectWay(stage.id));
    if (way !== 'none') await finish(stage, way, turn);
  };
}

/** Returns the end of the turn after which a stage is to be finished; null if there is nothing to do. */
export function turnToFinish(stage: StageView): string | null {
  const { column, session, worktree, finishing, merged, completedAt, pipeline } = stage;
  const turn = session?.lastTurn?.at ?? null;
  if (turn === null || worktree === null || merged !== null || completedAt !== null) return null;
  if (session?.goneBack.at(-1)?.canUndo) return null; // a person has just gone back, and goes on from there
  if (column !== 'review' || (session?.queued ?? 0) > 0) return null;
  if ((session?.phaseIndex ?? 0) < pipeline.length - 1) return null;
  if (isReview(pipeline.at(-1)) && !foundNothing(session?.review ?? null)) return null; // a person decides about findings
  if (pipeline.at(-1)?.gate === 'human') return null; // a person looks at the last phase, and finishes
  if (finishing === null || finishing.turn !== turn) return finishing?.state === 'under-way' ? null : turn;
  // A restart in the middle of a merge; that of a pull request is continued by itself.
  return finishing.way === 'merge' && finishing.state === 'under-way' ? turn : null;
}

/** Whether Callboard merged the stage, and a crash or a failure of the store kept it from saying so. */
const isMergedUnsaid = ({ finishing, completedAt, merged }: StageView): boolean =>
  completedAt !== null &&
  merged !== null &&
  finishing?.way === 'merge' &&
  finishing.state === 'under-way' &&
  finishing.by === ACTOR;

const foundNothing = (review: StageReview | null): boolean => review?.state === 'done' && review.findings === 0;
