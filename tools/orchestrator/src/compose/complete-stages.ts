import type { StageId } from '@callboard/contract';
import { hasProcessWith } from '../claude/processes/marked-processes.ts';
import type { Receipts } from '../receipts/receipts.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { createStageCompletion, type StageCompletion } from '../stages/complete-stage.ts';
import { createMergeIntents } from '../stages/merge-intents.ts';
import { createStageEndings } from '../stages/stage-endings.ts';
import type { Store } from '../store/store.ts';
import type { CleanUp } from '../worktree-commands/clean-up.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { StartContext } from './start-context.ts';

/** Builds what completes stages, after storing what became of merges that a crash interrupted. */
export async function completeStages(
  { log, platform, life }: StartContext,
  parts: { store: Store; worktrees: Worktrees; sessions: Sessions; cleanUp: CleanUp; receipts: Receipts },
): Promise<StageCompletion> {
  const { store, worktrees, sessions, cleanUp, receipts } = parts;
  const endings = createStageEndings({ store, onDone: cleanUp.afterDone });
  const intents = createMergeIntents({ store, worktrees, endings, platform, log, hasProcessWith });
  const { endIfIdle } = sessions;
  const receiptOf = async (stageId: StageId) => (await receipts.of(stageId)).markdown;
  const completion = createStageCompletion({ store, log, worktrees, intents, endings, endIfIdle, receiptOf });
  life.onStop('completion', completion.stop);
  await completion.settleInterrupted();
  return completion;
}
