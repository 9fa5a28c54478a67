import { createHash } from 'node:crypto';
import type { Actor } from '@callboard/contract';
import { Rejection } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';

export interface Credentials {
  /** Whose secret this is; rejects with `not_logged_in` when nobody's. */
  check(secret: string): Promise<Actor>;
  /** The next check of this secret asks the orchestrator again. */
  forget(secret: string): void;
}

export interface CredentialsParts {
  client: Pick<OrchestratorClient, 'send'>;
  /** For how long an answer is good: a login that was ended elsewhere may live on for this time. */
  ttlMs: number;
  /** So many secrets that were never good are asked about in a second: a limit for those who guess. */
  guessesPerSecond: number;
  now: () => number;
}

const MAX_KEPT = 1_000;
/** Ours are far shorter; nothing longer is worth a question. */
const MAX_SECRET_LENGTH = 512;

/** What a secret is called where the secret itself must not be kept. */
export const credentialKey = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

/** Knows for a moment who is logged in, so that not every request asks twice. Refusals are not kept. */
export function createCredentials({ client, ttlMs, guessesPerSecond, now }: CredentialsParts): Credentials {
  const known = new Map<string, { actor: Promise<Actor>; until: number }>();

  /** Those that were good once are asked about whatever else is tried. */
  const onceGood = new Set<string>();
  let guesses = { count: 0, until: 0 };

  function countGuess(): void {
    if (guesses.until <= now()) guesses = { count: 0, until: now() + 1_000 };
    guesses.count += 1;
    if (guesses.count <= guessesPerSecond) return;
    throw new Rejection('too_many_requests', 'Too many logins are being tried just now; wait a moment.');
  }

  function remember(key: string): void {
    onceGood.delete(key); // the one that was seen last goes last
    onceGood.add(key);
    const [oldest] = onceGood;
    if (onceGood.size > MAX_KEPT && oldest !== undefined) onceGood.delete(oldest);
  }

  function tidy(): void {
    for (const [key, { until }] of known) if (until <= now()) known.delete(key);
    for (const key of known.keys()) {
      if (known.size < MAX_KEPT) break;
      known.delete(key);
    }
  }

  async function ask(secret: string): Promise<Actor> {
    const { actor } = await client.send('auth_check', { secret });
    return actor;
  }

  async function check(secret: string): Promise<Actor> {
    if (secret.length > MAX_SECRET_LENGTH) throw new Rejection('not_logged_in', 'This is not a login of Callboard.');
    const key = credentialKey(secret);
    const found = known.get(key);
    if (found !== undefined && found.until > now()) return found.actor;
    if (!onceGood.has(key)) countGuess();
    tidy();
    const entry = { actor: ask(secret), until: now() + ttlMs };
    known.set(key, entry);
    try {
      const actor = await entry.actor;
      remember(key);
      return actor;
    } catch (error) {
      if (known.get(key) === entry) known.delete(key);
      throw error;
    }
  }

  return { check, forget: (secret) => void known.delete(credentialKey(secret)) };
}
