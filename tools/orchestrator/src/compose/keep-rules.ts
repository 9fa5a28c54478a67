import type { MessageQueue } from '../messages/message-queue.ts';
import { createDenialRetries, type DenialRetries } from '../rules/denial-retries.ts';
import { createRules, type Rules } from '../rules/rules.ts';
import { findCall } from '../sessions/watch/active-rules.ts';
import type { Store } from '../store/store.ts';
import type { RunningSessions } from './run-sessions.ts';
import type { StartContext } from './start-context.ts';

/** Builds what people do with permission rules. */
export function composeRules(
  { edges }: StartContext,
  { store, messages, liveRules }: Pick<RunningSessions, 'liveRules'> & { store: Store; messages: MessageQueue },
): { rules: Rules; denialRetries: DenialRetries } {
  const { settle } = liveRules;
  const { requireResumable, sendTextIn: sendText } = messages;
  return {
    rules: createRules({ store, edges, settle }),
    denialRetries: createDenialRetries({
      ...{ store, edges, settle, requireResumable, sendText },
      findCall: (stageId, toolUseId) => findCall(store, stageId, toolUseId),
    }),
  };
}
