import { createHash, randomBytes } from 'node:crypto';
import type { Actor } from '@callboard/contract';
import type { Edges } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import type { Store } from '../store/store.ts';

export interface LoginsParts {
  store: Store;
  edges: Edges;
  /** What the person at this machine is called in the decision log. */
  ownerName: string;
  /** SHA-256, in hex, of an API token that is always good. */
  tokenSha256: string | null;
}

/** Who may use Callboard. Secrets are given out once and kept as hashes. */
export interface Logins {
  /** A one-time code for a login link. */
  createCode(): Promise<string>;
  /** Trades a code for a login that lasts. @throws Rejection `bad_login_link` for a used, expired or unknown code */
  redeem(code: string): Promise<{ secret: string; actor: Actor; expiresAt: string }>;
  /** @throws Rejection `not_logged_in` */
  check(secret: string): Promise<Actor>;
  logout(secret: string): Promise<void>;
}

const HOUR_MS = 3_600_000;
const CODE_MS = 12 * HOUR_MS;
const SESSION_MS = 90 * 24 * HOUR_MS;

const hash = (secret: string): string => createHash('sha256').update(secret).digest('hex');
const newSecret = (): string => randomBytes(32).toString('base64url');

export function createLogins({ store, edges, ownerName, tokenSha256 }: LoginsParts): Logins {
  const expiry = (ms: number): string => new Date(edges.now().getTime() + ms).toISOString();

  return {
    async createCode() {
      const code = newSecret();
      await store.transact(async (tx) => {
        // Not by the time of day: a login is refused while the clock is wrong, and good again when it is right.
        const livedUntil = await tx.clock.livedUntil();
        if (livedUntil !== null) await tx.logins.removeExpired(livedUntil);
        await tx.logins.save({
          secretHash: hash(code),
          kind: 'code',
          name: ownerName,
          createdAt: tx.now,
          expiresAt: expiry(CODE_MS),
        });
      });
      return code;
    },
    redeem: (code) =>
      store.transact(async (tx) => {
        const found = await tx.logins.find(hash(code));
        const good = found?.kind === 'code' && (found.expiresAt === null || found.expiresAt > tx.now);
        if (!good || !(await tx.logins.remove(found.secretHash))) {
          throw new Rejection(
            'bad_login_link',
            'This login link was used already, or has expired. Start Callboard again for a new one.',
          );
        }
        const secret = newSecret();
        const expiresAt = expiry(SESSION_MS);
        await tx.logins.save({
          secretHash: hash(secret),
          kind: 'session',
          name: found.name,
          createdAt: tx.now,
          expiresAt,
        });
        return { secret, actor: { name: found.name }, expiresAt };
      }),
    async check(secret) {
      const secretHash = hash(secret);
      if (secretHash === tokenSha256) return { name: 'API token' };
      const found = await store.read.logins.find(secretHash);
      const good =
        found?.kind === 'session' && (found.expiresAt === null || found.expiresAt > edges.now().toISOString());
      if (!good) throw new Rejection('not_logged_in', 'Open the login link that was printed when Callboard started.');
      return { name: found.name };
    },
    async logout(secret) {
      await store.transact(async (tx) => {
        await tx.logins.remove(hash(secret));
      });
    },
  };
}
