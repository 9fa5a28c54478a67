import { hash } from 'node:crypto';
import type { PushMessage, PushSubscriptionBody } from '@callboard/contract';
import { untrustedText } from '../lib/foreign-words.ts';
import { type Posted, post } from '../lib/post.ts';
import { isPublicAddress } from '../lib/public-address.ts';
import type { PushKeys } from '../store/announcement-records.ts';

/** What a push service answered: `gone` if the browser has unsubscribed. `afterMs`: it wants no message before. */
export type PushResult = { kind: 'taken' } | { kind: 'gone' } | { kind: 'refused'; error: string; afterMs?: number };

/** Hands messages to the push services of browsers. */
export interface PushSender {
  /**
   * Resolves when the push service has answered, or could not be reached. Never rejects.
   */
  send(
    to: { subscription: PushSubscriptionBody; origin: string },
    message: PushMessage,
    signal: AbortSignal,
  ): Promise<PushResult>;
}

interface PushSenderDeps {
  keys: PushKeys;
  /** Which addresses may be connected to: those of the internet, but in tests. */
  mayConnect?: (address: string) => boolean;
  /** Certificates to trust, for tests. */
  ca?: string;
  timeLimitMs?: number;
}

const TIME_LIMIT_MS = 20_000;
/** For a browser that is off: a request of yesterday calls nobody. */
const TTL_SECONDS = 24 * 3_600;
const MAX_REPORTED = 300;
/** A page on this machine has no address that a push service could turn to. */
const NO_CONTACT = 'mailto:callboard@example.com';

export function createPushSender({
  keys,
  mayConnect = isPublicAddress,
  ca,
  timeLimitMs = TIME_LIMIT_MS,
}: PushSenderDeps): PushSender {
  const refuse = (address: string) => (mayConnect(address) ? null : NOT_PUBLIC);

  /** Encrypts and signs. Returns why that is impossible: a browser may have sent a key that is none. */
  async function seal({ subscription, origin }: Parameters<PushSender['send']>[0], message: PushMessage) {
    const subject = origin.startsWith('https://') ? origin : NO_CONTACT;
    // Loaded when it is first needed: most people push nothing.
    const { default: webPush } = await import('web-push');
    try {
      return webPush.generateRequestDetails(subscription, JSON.stringify(message), {
        vapidDetails: { subject, ...keys },
        TTL: TTL_SECONDS,
        contentEncoding: 'aes128gcm',
        urgency: message.signal === 'waiting' && !message.isSettled ? 'high' : 'normal',
        topic: hash('sha256', message.tag, 'base64url').slice(0, 32), // replaces what the service still holds
      });
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  return {
    async send({ subscription, origin }, message, signal) {
      const { endpoint } = subscription;
      const sealed = await seal({ subscription, origin }, message);
      if (sealed instanceof Error)
        return { kind: 'refused', error: `Nothing can be encrypted for it: ${sealed.message}.` };
      const { headers, body } = sealed;
      return resultOf(endpoint, await post({ url: endpoint, headers, body }, { refuse, timeLimitMs, ca }, signal));
    },
  };
}

const NOT_PUBLIC = 'its address is not on the internet, and Callboard sends nothing to machines of your own network';

function resultOf(endpoint: string, posted: Posted): PushResult {
  if (posted.kind === 'unreached') return { kind: 'refused', error: posted.error };
  const { status, text, afterMs } = posted;
  if (status >= 200 && status < 300) return { kind: 'taken' };
  if (status === 404 || status === 410) return { kind: 'gone' };
  const said = untrustedText(text, MAX_REPORTED);
  const error = `${new URL(endpoint).hostname} refused the message with status ${status}${said === '' ? '.' : `: ${said}`}`;
  return afterMs > 0 ? { kind: 'refused', error, afterMs } : { kind: 'refused', error };
}
