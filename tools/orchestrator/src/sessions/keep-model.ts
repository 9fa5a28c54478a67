import type { Effort, StageId } from '@callboard/contract';
import { changeSession } from '../domain/change-session.ts';
import { requireStage } from '../store/require.ts';
import type { Tx } from '../store/store.ts';

/** What was chosen holds for later launches as well. */
export async function keepModel(
  tx: Tx,
  stageId: StageId,
  model: string | null | undefined,
  effort: Effort | undefined,
): Promise<void> {
  await changeSession(tx, stageId, (change) => {
    if (effort !== undefined) change.record = { ...change.record, effort };
    // Shown at once; the next turn says what it has become.
    if (model !== undefined) change.record = { ...change.record, model };
  });
  if (model === undefined) return;
  const stage = { ...(await requireStage(tx, stageId)), model, updatedAt: tx.now };
  await tx.stages.update(stage);
  await tx.emit({ type: 'stage-updated', data: { stageId, stage } });
}
