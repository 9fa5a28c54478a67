import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * What a page proves itself with, without a memory: nonces and tokens bear their own seal, made with a key that this
 * process alone has. Both are worth nothing to another process, so to whoever takes the port while this one is away.
 */
export interface PageTokens {
  /** A nonce for a page to sign, good for a minute. */
  nonce(): string;
  isFresh(nonce: string): boolean;
  /** A token for the page of the login with this secret. */
  give(secret: string): string;
  isGood(token: string, secret: string): boolean;
}

const NONCE_MS = 60_000;
const TOKEN_MS = 12 * 3_600_000;

/** @param now milliseconds, on a clock that is never set back */
export function createPageTokens(now: () => number): PageTokens {
  const key = randomBytes(32);

  const seal = (what: string, until: string, of: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([what, until, of]))
      .digest();

  /** `<until>.<seal>`; what it is of has to be shown with it. */
  const sealed = (what: string, ms: number, of: string) => {
    const until = String(Math.round(now() + ms));
    return `${until}.${seal(what, until, of).toString('base64url')}`;
  };

  function isSealed(what: string, text: string, of: string): boolean {
    const [until = '', shown = '', ...more] = text.split('.');
    if (more.length > 0 || !/^\d{1,15}$/.test(until) || Number(until) <= now()) return false;
    const given = Buffer.from(shown, 'base64url');
    const right = seal(what, until, of);
    return given.length === right.length && timingSafeEqual(given, right);
  }

  return {
    nonce() {
      const random = randomBytes(16).toString('base64url');
      return `${random}.${sealed('nonce', NONCE_MS, random)}`;
    },
    isFresh(nonce) {
      const [random = ''] = nonce.split('.', 1);
      return isSealed('nonce', nonce.slice(random.length + 1), random);
    },
    give: (secret) => sealed('page', TOKEN_MS, secret),
    isGood: (token, secret) => isSealed('page', token, secret),
  };
}
