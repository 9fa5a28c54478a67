import { hasProcessWith } from '../claude/processes/marked-processes.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { createStageCompletion, type StageCompletion } from '../stages/complete-stage.ts';
import { createMergeIntents } from '../stages/merge-intents.ts';
import { createStageEndings } from '../stages/stage-endings.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { StartContext } from './start-context.ts';

/** Builds what completes stages, after storing what became of merges that a crash interrupted. */
export async function completeStages(
  { log, edges, life }: StartContext,
  { store, worktrees, sessions }: { store: Store; worktrees: Worktrees; sessions: Sessions },
): Promise<StageCompletion> {
  const endings = createStageEndings({ store });
  const intents = createMergeIntents({ store, worktrees, endings, edges, log, hasProcessWith });
  const { endIfIdle } = sessions;
  const completion = createStageCompletion({ store, log, worktrees, intents, endings, endIfIdle });
  life.onStop('completion', completion.stop);
  await completion.settleInterrupted();
  return completion;
}
