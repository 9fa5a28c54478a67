import type { PushMessage } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { client, unanswered } from '../lib/api-client.ts';
import { untilDelivered } from '../lib/until-delivered.ts';
import { answeredMessage, refusedMessage } from './shown-notification.ts';

type Verdict = 'allow' | 'deny';
const OUTCOMES = { allow: 'allowed', deny: 'denied' } as const;

/**
 * Answers the request of a notification with the login of this browser.
 * @returns what the notification says from now on, and whether Callboard took the answer. Never rejects.
 */
export async function answerRequest(
  message: PushMessage & { request: NonNullable<PushMessage['request']> },
  decision: Verdict,
): Promise<{ message: PushMessage; isTaken: boolean }> {
  const { stageId, requestId } = message.request;
  try {
    await untilDelivered(async (attempt, signal) => {
      try {
        await client.command('approve_tool', { stageId, requestId, decision }, { signal });
      } catch (error) {
        // An earlier attempt has arrived after all.
        const isOurs = error instanceof TransportError && error.decision?.outcome === OUTCOMES[decision];
        if (attempt === 1 || !isOurs) throw error;
      }
    });
    return { message: answeredMessage(message, OUTCOMES[decision]), isTaken: true };
  } catch (cause) {
    const error = cause instanceof TransportError ? cause : unanswered();
    return { message: refusedMessage(message, decision, error), isTaken: false };
  }
}
