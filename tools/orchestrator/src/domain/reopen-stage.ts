import type { Stage } from '@callboard/contract';
import type { Tx } from '../store/store.ts';
import { changeSession } from './change-session.ts';
import { closeDenial } from './denials.ts';
import { addNotice } from './session-change.ts';
import { endWaits } from './usage-limits.ts';

/** Reopens a stage that is done, in the caller's transaction. Does nothing to any other stage. */
export async function reopenStage(tx: Tx, stage: Stage, actor: string): Promise<void> {
  if (stage.completedAt === null) return;
  const reopened = { ...stage, completedAt: null, merged: null, updatedAt: tx.now };
  await tx.stages.update(reopened);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage: reopened } });
  if ((await tx.sessions.find(stage.id)) === null) return;
  await changeSession(tx, stage.id, (change) => {
    endWaits(change);
    closeDenial(change); // whoever completed the stage accepted it
    addNotice(change, tx.now, { level: 'info', code: 'reopened', text: `Reopened by ${actor}.` });
  });
}
