import type { Stage, StageId, StageMerge } from '@callboard/contract';
import { changeSession } from '../domain/change-session.ts';
import { reopenStage } from '../domain/reopen-stage.ts';
import { addNotice } from '../domain/session-change.ts';
import { Rejection } from '../lib/errors.ts';
import { requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';
import { requireCompletable } from './stages.ts';

/** Stores that a stage is done, or no longer: with its merge, and without its intent. */
export interface StageEndings {
  /**
   * Marks the stage done, or a done stage merged.
   * @throws Rejection `stage_running` if it got work during the merge: the transcript then tells of the merge; as
   *   `requireCompletable` if nothing was merged
   */
  done(stageId: StageId, merged: Omit<StageMerge, 'at'> | null, actor: string): Promise<void>;
  /** Takes the last completion back: the stage is as before it. @throws Rejection `not_done` */
  undone(stageId: StageId, actor: string): Promise<void>;
}

const short = (commit: string): string => commit.slice(0, 7);

export function createStageEndings({ store }: { store: Store }): StageEndings {
  return {
    async done(stageId, merged, actor) {
      const isDone = await store.transact(async (tx) => {
        await tx.mergeIntents.remove(stageId);
        const stage = await requireStage(tx, stageId);
        if (merged === null) await requireCompletable(tx, stage);
        else await addMergeNotice(tx, stageId, merged, actor);
        // A message has started it again meanwhile.
        if ((await tx.sessions.find(stageId))?.launchId != null) return false;
        await save(tx, {
          ...stage,
          completedAt: stage.completedAt ?? tx.now,
          merged: merged === null ? null : { ...merged, at: tx.now },
        });
        return true;
      });
      if (isDone || merged === null) return;
      const message = `Merged into ${merged.into} as ${short(merged.commit)}, but ${stageId} got work at the same moment, so it is not done.`;
      throw new Rejection('stage_running', message);
    },

    undone: (stageId, actor) =>
      store.transact(async (tx) => {
        await tx.mergeIntents.remove(stageId);
        const stage = await requireStage(tx, stageId);
        const { completedAt, merged } = stage;
        if (completedAt === null) throw new Rejection('not_done', `${stageId} is not done.`);
        if (merged !== null) await addUndoNotice(tx, stageId, merged, actor);
        // Merged later than it was completed: only the merge is taken back.
        if (merged !== null && merged.at !== completedAt) await save(tx, { ...stage, merged: null });
        else await reopenStage(tx, stage, actor);
      }),
  };
}

async function save(tx: Tx, stage: Stage): Promise<void> {
  const changed = { ...stage, updatedAt: tx.now };
  await tx.stages.update(changed);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage: changed } });
}

const counted = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`;

async function addMergeNotice(
  tx: Tx,
  stageId: StageId,
  { branch, commits, into, commit, previous }: Omit<StageMerge, 'at'>,
  actor: string,
): Promise<void> {
  const text =
    previous === null
      ? `${into} already had ${branch} (${counted(commits, 'commit')}) at ${short(commit)}.`
      : `${actor} merged ${branch} (${counted(commits, 'commit')}) into ${into}: ${short(commit)}.`;
  await addTo(tx, stageId, 'merged', text);
}

async function addUndoNotice(tx: Tx, stageId: StageId, merged: StageMerge, actor: string): Promise<void> {
  const { into, previous, commit } = merged;
  if (previous === null) return;
  const text = `${actor} undid the merge ${short(commit)}: ${into} is at ${short(previous)} again.`;
  await addTo(tx, stageId, 'merge-undone', text);
}

async function addTo(tx: Tx, stageId: StageId, code: 'merged' | 'merge-undone', text: string): Promise<void> {
  if ((await tx.sessions.find(stageId)) === null) return;
  await changeSession(tx, stageId, (change) => addNotice(change, tx.now, { level: 'info', code, text }));
}
