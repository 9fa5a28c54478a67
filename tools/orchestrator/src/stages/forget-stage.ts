import type { Stage } from '@callboard/contract';
import { forgetPausesOf } from '../domain/holds.ts';
import type { Tx } from '../store/store.ts';

/** Removes a stage with all that is kept for it alone; its decisions stay in the decision log. */
export async function forgetStage(tx: Tx, stage: Stage): Promise<void> {
  const { id: stageId } = stage;
  await tx.requests.retainOf(stage);
  await tx.stages.remove(stageId);
  await tx.budgets.remove({ stageId });
  await forgetPausesOf(tx, { stageId });
  await tx.emit({ type: 'stage-removed', data: { stageId } });
}
