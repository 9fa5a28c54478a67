import type { StageId } from '@callboard/contract';
import { placeholderText } from '../../agent/sandbox-placeholders.ts';
import { changeSession } from '../../domain/change-session.ts';
import { addNotice } from '../../domain/session-change.ts';
import type { Store } from '../../store/store.ts';
import type { Worktrees } from '../../worktrees/worktrees.ts';

/** Returns a function that says in a stage's transcript that placeholders of the sandbox were committed, once for the same files. */
export function createPlaceholderWatch({ store, worktrees }: { store: Store; worktrees: Worktrees }) {
  const reported = new Map<StageId, string>();
  return async (stageId: StageId): Promise<void> => {
    const worktree = (await store.read.stages.find(stageId))?.worktree ?? null;
    const files = worktree === null ? [] : await worktrees.committedPlaceholders(worktree);
    const key = files.join('\0');
    if (key === (reported.get(stageId) ?? '')) return;
    reported.set(stageId, key);
    if (files.length === 0) return;
    const text = `${placeholderText(files)} Where the stage is completed, one press takes them out.`;
    await store.transact(async (tx) => {
      if ((await tx.sessions.find(stageId)) === null) return; // the stage was deleted meanwhile
      await changeSession(tx, stageId, (change) =>
        addNotice(change, tx.now, { level: 'warning', code: 'placeholders-committed', text }),
      );
    });
  };
}
