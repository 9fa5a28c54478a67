import type { Stage } from '@callboard/contract';
import type { Tx } from '../store/store.ts';
import { changeSession } from './change-session.ts';
import { closeDenial } from './denials.ts';
import { addEntry } from './session-change.ts';

/** Takes a stage that is done back, in a transaction of the caller's; does nothing to one that is not. */
export async function reopenStage(tx: Tx, stage: Stage, actor: string): Promise<void> {
  if (stage.completedAt === null) return;
  const reopened = { ...stage, completedAt: null, updatedAt: tx.now };
  await tx.stages.update(reopened);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage: reopened } });
  if ((await tx.sessions.find(stage.id)) === null) return;
  const text = `Reopened by ${actor}.`;
  await changeSession(tx, stage.id, (change) => {
    closeDenial(change); // it was completed as it was
    addEntry(change, tx.now, { kind: 'notice', parentToolUseId: null, level: 'info', code: 'reopened', text });
  });
}
