import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Stateless nonces and page tokens, signed with a key that only this process has. Another process does not accept them, so
 * a program that takes the port while this one is down cannot use them.
 */
export interface PageTokens {
  /** Returns a nonce for a page to sign, valid for a minute. */
  nonce(): string;
  isFresh(nonce: string): boolean;
  /** Returns a token for a page of the login with this secret, valid for twelve hours. */
  issue(secret: string): string;
  isValid(token: string, secret: string): boolean;
}

const NONCE_MS = 60_000;
const TOKEN_MS = 12 * 3_600_000;

/** @param now milliseconds of a monotonic clock */
export function createPageTokens(now: () => number): PageTokens {
  const key = randomBytes(32);

  const sign = (what: string, until: string, of: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([what, until, of]))
      .digest();

  /** Returns `<until>.<signature>`; to verify it, `of` must be presented with it. */
  const signed = (what: string, ms: number, of: string) => {
    const until = String(Math.round(now() + ms));
    return `${until}.${sign(what, until, of).toString('base64url')}`;
  };

  function isSigned(what: string, text: string, of: string): boolean {
    const [until = '', shown = '', ...more] = text.split('.');
    if (more.length > 0 || !/^\d{1,15}$/.test(until) || Number(until) <= now()) return false;
    const given = Buffer.from(shown, 'base64url');
    const right = sign(what, until, of);
    return given.length === right.length && timingSafeEqual(given, right);
  }

  return {
    nonce() {
      const random = randomBytes(16).toString('base64url');
      return `${random}.${signed('nonce', NONCE_MS, random)}`;
    },
    isFresh(nonce) {
      const [random = ''] = nonce.split('.', 1);
      return isSigned('nonce', nonce.slice(random.length + 1), random);
    },
    issue: (secret) => signed('page', TOKEN_MS, secret),
    isValid: (token, secret) => isSigned('page', token, secret),
  };
}
