import type { MessageQueue } from '../messages/message-queue.ts';
import { createDenialRetries, type DenialRetries } from '../rules/denial-retries.ts';
import { createRules, type Rules } from '../rules/rules.ts';
import type { Store } from '../store/store.ts';
import type { RunningSessions } from './run-sessions.ts';
import type { StartContext } from './start-context.ts';

/** Builds what people do with permission rules, and goes on with what an earlier run has not told Claude. */
export async function composeRules(
  { platform, log }: StartContext,
  {
    store,
    own,
    messages,
    liveRules,
  }: Pick<RunningSessions, 'liveRules'> & {
    store: Store;
    own: Store;
    messages: MessageQueue;
  },
): Promise<{ rules: Rules; denialRetries: DenialRetries }> {
  const { settle } = liveRules;
  const { requireResumable, sendTextIn: sendText } = messages;
  const denialRetries = createDenialRetries({ store: own, platform, log, settle, requireResumable, sendText });
  await denialRetries
    .resume()
    .catch((error: unknown) => log.error({ err: error }, 'telling Claude of an allowed call failed'));
  return { rules: createRules({ store, platform, settle }), denialRetries };
}
