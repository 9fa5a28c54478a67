import type { StageId } from '@callboard/contract';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createNudged } from '../lib/wait.ts';
import { changeSession } from '../session-state/change-session.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';

interface ChangeCountsParts {
  store: Store;
  worktrees: Pick<Worktrees, 'countChanges'>;
  log: Logger;
}

/**
 * Counts what a worktree has changed once each turn has ended, so that a card can show it and nobody who looks at the
 * board makes git work. One worktree at a time; what was missed while we were away is counted at the start.
 */
export async function startChangeCounts({ store, worktrees, log }: ChangeCountsParts): Promise<{
  /** Resolves when no git of ours runs any more. */
  stop: () => Promise<void>;
}> {
  const wanted = new Set<StageId>();
  const lastTurns = new Map<StageId, string>();
  const stopping = new AbortController();

  async function count(stageId: StageId): Promise<void> {
    const record = await store.read.sessions.find(stageId);
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    const worktree = stage?.worktree ?? null;
    const turn = record?.lastTurn?.at;
    if (project === null || worktree === null || turn === undefined || turn === record?.changesCountedFor) return;
    const changes = await worktrees.countChanges(project, worktree, stopping.signal);
    await store.transact((tx) =>
      changeSession(tx, stageId, (draft) => {
        draft.record = { ...draft.record, changes, changesCountedFor: turn };
      }),
    );
  }

  async function countAll(): Promise<void> {
    for (const stageId of wanted) {
      if (stopping.signal.aborted) return;
      wanted.delete(stageId);
      await count(stageId).catch((error: unknown) =>
        log.info({ stageId, reason: messageOf(error) }, 'the changes of a worktree were not counted'),
      );
    }
  }

  const passes = createNudged(countAll, (error) => log.error({ err: error }, 'counting changes failed'));

  function want(stageId: StageId): void {
    wanted.add(stageId);
    passes.nudge();
  }

  const unlisten = store.onEvent((event) => {
    if (event.type !== 'session-updated' || event.data.lastTurn === null) return;
    const { stageId, lastTurn } = event.data;
    if (lastTurns.get(stageId) === lastTurn.at) return;
    lastTurns.set(stageId, lastTurn.at);
    want(stageId);
  });
  for (const { stageId } of await store.read.sessions.list()) want(stageId);
  return {
    async stop() {
      unlisten();
      stopping.abort();
      await passes.stop();
    },
  };
}
