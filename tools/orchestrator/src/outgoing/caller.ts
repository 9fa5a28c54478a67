import type { WebhookTarget } from '@callboard/contract';
import { z } from 'zod';
import { untrustedText } from '../lib/foreign-words.ts';
import { parseJson } from '../lib/parse-json.ts';
import { type Posted, post } from '../lib/post.ts';
import { refuseReceiver } from './receiver-addresses.ts';
import { type Call, type HttpTarget, requestOf } from './requests.ts';

/**
 * What became of a call. `afterMs`: the receiver wants none before. `isFinal`: repeating it is of no use. `isGone`: nothing will ever
 * be taken at this address again.
 */
export type Called =
  | { kind: 'taken'; receipt: string | null }
  | { kind: 'refused'; error: string; afterMs?: number; isFinal?: boolean; isGone?: true };

/** Runs the command of a call to its end. Never rejects. */
export type RunCommand = (
  target: Extract<WebhookTarget, { form: 'command' }>,
  call: Call,
  signal: AbortSignal,
) => Promise<Called>;

/** Makes calls to the outside. */
export interface Caller {
  /** Resolves when the receiver has answered, or could not be reached. Never rejects. */
  call(target: WebhookTarget, call: Call, signal: AbortSignal): Promise<Called>;
}

interface CallerDeps {
  runCommand: RunCommand;
  timeLimitMs?: number;
  /** Certificates to trust, for tests. */
  ca?: string;
}

const TIME_LIMIT_MS = 10_000;
const MAX_REPORTED = 300;

export function createCaller({ runCommand, timeLimitMs = TIME_LIMIT_MS, ca }: CallerDeps): Caller {
  return {
    async call(target, call, signal) {
      if (target.form === 'command') return runCommand(target, call, signal);
      const request = requestOf(target, call);
      const { url } = request;
      const refuse = (address: string) => refuseReceiver({ url, allowsThisMachine: target.allowsThisMachine }, address);
      return calledOf(target, await post(request, { refuse, timeLimitMs, ca }, signal));
    },
  };
}

/** What an answer says beside its status: Telegram and Discord when to come again, Telegram also the number of the message and why not. */
const Answer = z.object({
  description: z.string().optional(),
  parameters: z.object({ retry_after: z.number().optional() }).optional(),
  retry_after: z.number().optional(),
  result: z.object({ message_id: z.int() }).optional(),
});

/** The receiver refuses this very message, or every one from now on. */
const FINAL = [400, 410, 413, 422];
/** "Gone": the receiver was there, and wants no more calls. */
const GONE = 410;

function calledOf(target: HttpTarget, posted: Posted): Called {
  if (posted.kind === 'unreached') return { kind: 'refused', error: posted.error };
  const { status, text } = posted;
  const answer = Answer.safeParse(parseJson(text)).data;
  if (status >= 200 && status < 300) {
    const number = target.form === 'telegram' ? answer?.result?.message_id : undefined;
    return { kind: 'taken', receipt: number === undefined ? null : String(number) };
  }
  // Its message says already what it is to be changed to: an earlier attempt has done it.
  if (target.form === 'telegram' && status === 400 && answer?.description?.includes('message is not modified'))
    return { kind: 'taken', receipt: null };
  const { hostname } = new URL('url' in target ? target.url : target.server);
  if (status >= 300 && status < 400)
    return {
      kind: 'refused',
      error: `${hostname} redirects (status ${status}), which Callboard does not follow. Enter the final address.`,
    };
  const said = untrustedText(withoutSecrets(target, answer?.description ?? text), MAX_REPORTED);
  const error = `${hostname} refused the call with status ${status}${said === '' ? '.' : `: ${said}`}`;
  const wait = answer?.parameters?.retry_after ?? answer?.retry_after ?? 0;
  const afterMs = Math.max(posted.afterMs, wait * 1_000);
  const gone = status === GONE && { isGone: true as const };
  return { kind: 'refused', error, isFinal: FINAL.includes(status), ...gone, ...(afterMs > 0 && { afterMs }) };
}

/** A receiver may repeat what it was sent, also in JSON, where a slash may have a backslash before it. */
function withoutSecrets(target: HttpTarget, text: string): string {
  const longestFirst = secretsOf(target).toSorted((a, b) => b.length - a.length);
  return longestFirst
    .flatMap((secret) => [secret, secret.replaceAll('/', '\\/')])
    .reduce((saved, secret) => saved.replaceAll(secret, '…'), text);
}

/** A part of an address that is at least so long may be a secret: shorter ones are words like `hooks`. */
const SHORTEST_SECRET = 8;

function secretsOf(target: HttpTarget): string[] {
  switch (target.form) {
    case 'ntfy':
      return [target.topic, ...(target.token === null ? [] : [target.token])];
    case 'telegram':
      return [target.token];
    default: {
      const { href, pathname, search } = new URL(target.url);
      const whole = [href, `${pathname}${search}`, pathname].filter((part) => part.length > 1);
      const own = target.form === 'webhook' && target.secret !== undefined ? [target.secret] : [];
      return [...whole, ...partsOf(target.url), ...own];
    }
  }
}

/** Returns the parts of an address that may be secrets, as they are written and as they are meant. */
function partsOf(url: string): string[] {
  const { pathname, search, searchParams } = new URL(url);
  const written = [...pathname.split('/'), ...search.slice(1).split(/[&=]/)];
  const meant = [...written.map(decoded), ...searchParams.values()];
  return [...new Set([...written, ...meant])].filter((part) => part.length >= SHORTEST_SECRET);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
