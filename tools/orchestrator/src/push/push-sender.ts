import { hash } from 'node:crypto';
import type { LookupFunction } from 'node:net';
import type { PushMessage, PushSubscriptionBody } from '@callboard/contract';
import type { PushKeys } from '../store/announcement-records.ts';
import { isPublicAddress } from './public-address.ts';

// An import makes Node fill in every export of the modules, which loads its whole HTTP client.
const { request } = process.getBuiltinModule('node:https');
const { lookup } = process.getBuiltinModule('node:dns');
const { isIP } = process.getBuiltinModule('node:net');

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

interface PushSenderParts {
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
const MOST_TOLD = 300;
/** A page on this machine has no address that a push service could turn to. */
const NO_CONTACT = 'mailto:callboard@example.com';

export function createPushSender({
  keys,
  mayConnect = isPublicAddress,
  ca,
  timeLimitMs = TIME_LIMIT_MS,
}: PushSenderParts): PushSender {
  /** Looks at each address itself, so that no name leads inside, whatever it pointed to a moment ago. */
  const guarded: LookupFunction = (hostname, options, found) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const allowed = addresses?.filter(({ address }) => mayConnect(address)) ?? [];
      const [first] = allowed;
      if (error !== null) return found(error, '', 0);
      if (first === undefined) return found(new Error(NOT_PUBLIC), '', 0);
      return options.all === true ? found(null, allowed) : found(null, first.address, first.family);
    });
  };

  /** Encrypts and signs. Returns why that is impossible: a browser may have sent a key that is none. */
  async function seal({ subscription, origin }: Parameters<PushSender['send']>[0], message: PushMessage) {
    const subject = origin.startsWith('https://') ? origin : NO_CONTACT;
    // Loaded when it is first needed: most people push nothing.
    const { default: webPush } = await import('web-push');
    try {
      return webPush.generateRequestDetails(subscription, JSON.stringify(message), {
        ...{ vapidDetails: { subject, ...keys }, TTL: TTL_SECONDS, contentEncoding: 'aes128gcm' },
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
      const { hostname } = new URL(endpoint);
      const address = hostname.replace(/^\[(.*)\]$/, '$1');
      if (isIP(address) !== 0 && !mayConnect(address))
        return { kind: 'refused', error: reachWords(hostname, new Error(NOT_PUBLIC)) };
      const sealed = await seal({ subscription, origin }, message);
      if (sealed instanceof Error)
        return { kind: 'refused', error: `Nothing can be encrypted for it: ${sealed.message}.` };
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeLimitMs)]);
      return new Promise((resolve) => {
        const refuse = (error: Error) => resolve({ kind: 'refused', error: reachWords(hostname, error) });
        const options = {
          method: 'POST',
          headers: sealed.headers,
          lookup: guarded,
          signal: limit,
          agent: false,
          ...(ca && { ca }),
        };
        const sending = request(endpoint, options, (answer) => {
          const parts: string[] = [];
          answer.setEncoding('utf8');
          answer.on('data', (part: string) => {
            if (parts.join('').length < MOST_TOLD) parts.push(part);
          });
          answer.on('error', refuse);
          answer.on('end', () => {
            const afterMs = Number(answer.headers['retry-after'] ?? 0) * 1_000;
            resolve(resultOf(hostname, answer.statusCode ?? 0, parts.join('').slice(0, MOST_TOLD).trim(), afterMs));
          });
        });
        sending.on('error', refuse);
        sending.end(sealed.body);
      });
    },
  };
}

const NOT_PUBLIC = 'its address is not on the internet, and Callboard sends nothing to machines of your own network';

function reachWords(host: string, error: Error): string {
  if (error.message === NOT_PUBLIC) return `${host} was not used: ${NOT_PUBLIC}.`;
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return `${host} did not answer in time.`;
  return `${host} could not be reached: ${error.message}.`;
}

function resultOf(host: string, status: number, said: string, afterMs: number): PushResult {
  if (status >= 200 && status < 300) return { kind: 'taken' };
  if (status === 404 || status === 410) return { kind: 'gone' };
  const error = `${host} refused the message with status ${status}${said === '' ? '.' : `: ${said}`}`;
  return Number.isFinite(afterMs) && afterMs > 0 ? { kind: 'refused', error, afterMs } : { kind: 'refused', error };
}
