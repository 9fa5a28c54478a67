import { positionBefore } from '../claude/conversation-place.ts';
import { createForkStage, type ForkStage } from '../rewinds/fork-stage.ts';
import { createRewinds, type Rewinds } from '../rewinds/rewinds.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Stages } from '../stages/stages.ts';
import { retryUntilStored } from '../store/retry-until-stored.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { StartContext } from './start-context.ts';

/** Builds what takes stages back to earlier messages, after completing what a crash interrupted. */
export async function composeRewind(
  { log, platform, life }: StartContext,
  parts: { store: Store; worktrees: Worktrees; sessions: Sessions; stages: Stages; claudeEnv: Record<string, string> },
): Promise<{ rewinds: Rewinds; forkStage: ForkStage }> {
  const { store, worktrees, sessions, stages, claudeEnv } = parts;
  const moments = {
    store,
    worktrees,
    positionBefore: (conversationId: string, messageId: string) => positionBefore(claudeEnv, conversationId, messageId),
  };
  const stopping = new AbortController();
  const storing = { store, log, signal: stopping.signal };
  const rewinds = createRewinds({
    ...moments,
    platform,
    log,
    endIfIdle: sessions.endIfIdle,
    record: (work) => retryUntilStored(storing, work, { sync: 'now' }),
  });
  life.onStop('going back', () => stopping.abort());
  await rewinds.settleInterrupted();
  return { rewinds, forkStage: createForkStage({ ...moments, stages }) };
}
