import { countOf, type StageDiff, type StageId } from '@callboard/contract';
import { changeSession } from '../../domain/change-session.ts';
import { createKeyedMutex } from '../../lib/keyed-mutex.ts';
import type { Store } from '../../store/store.ts';
import type { Worktrees } from '../../worktrees/worktrees.ts';
import type { LowPriorityWork } from './low-priority-work.ts';

interface ChangeCountsDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'saveChanges' | 'dropTurns'>;
  lowPriorityWork: Pick<LowPriorityWork, 'add'>;
  /** Gets each diff that was counted. */
  onDiff: (stageId: StageId, diff: StageDiff) => Promise<void>;
}

/**
 * Counts the changes in a worktree after each turn, when its session is quiet, so cards can show them and reading the board
 * runs no git. Marks the files of that moment, so that the changes of the next turn can be shown. Counts one worktree at a time,
 * and at the start whatever was missed.
 * @returns how to stop; a running count is low-priority work and ends with that
 */
export async function startChangeCounts(deps: ChangeCountsDeps): Promise<() => void> {
  const { store, worktrees, lowPriorityWork, onDiff } = deps;
  const lastTurns = new Map<StageId, string>();
  const exclusively = createKeyedMutex();

  async function count(stageId: StageId, signal: AbortSignal): Promise<void> {
    const record = await store.read.sessions.find(stageId);
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    const worktree = stage?.worktree ?? null;
    const turn = record?.lastTurn?.at;
    if (project === null || worktree === null || turn === undefined || turn === record?.changesCountedFor) return;
    signal.throwIfAborted(); // other worktrees were counted first
    // Kept before the mark that names it: a mark never names files that are gone.
    const { commit, diff } = await worktrees.saveChanges(project, worktree, { stageId, name: turn }, signal);
    const isMarked = await store.transact(
      async (tx) => {
        if ((await tx.sessions.find(stageId)) === null) return false; // the stage was deleted meanwhile
        const { turnRunning, lastTurn, goingBack, ...session } = await changeSession(tx, stageId, (change) => {
          change.record = { ...change.record, changes: countOf(diff), changesCountedFor: turn };
        });
        // Otherwise the files may already be those of the next turn.
        if (turnRunning || goingBack !== null || lastTurn?.at !== turn) return false;
        const { transcriptLength: place, sessionId: conversationId, phaseIndex } = session;
        await tx.turnMarks.save(stageId, { at: turn, tree: diff.tree, commit, place, conversationId, phaseIndex });
        return true;
      },
      { sync: 'later' },
    );
    if (!isMarked) await worktrees.dropTurns(project, stageId, turn);
    await onDiff(stageId, diff);
  }

  const want = (stageId: StageId): void =>
    lowPriorityWork.add(stageId, 'changes', (signal) => exclusively('all', () => count(stageId, signal)));

  const unlisten = store.onEvent((event) => {
    if (event.type !== 'session-updated' || event.data.lastTurn === null) return;
    const { stageId, lastTurn } = event.data;
    if (lastTurns.get(stageId) === lastTurn.at) return;
    lastTurns.set(stageId, lastTurn.at);
    want(stageId);
  });
  for (const { stageId } of await store.read.sessions.list()) want(stageId);
  return unlisten;
}
