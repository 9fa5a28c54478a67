import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Credential, PAGE_HEADER } from '@callboard/contract';
import { Rejection } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import type { GuessLimit } from './rate-limits.ts';
import { addressKey, type Visit, type Visits } from './visits.ts';

/** The parts of a request that authentication reads. */
export interface AuthRequest {
  raw: IncomingMessage;
  headers: IncomingMessage['headers'];
  cookies: Readonly<Record<string, string | undefined>>;
}

/** The login that a request presents. It goes along with each command, and the orchestrator checks it there. */
export interface Login {
  credential: Credential;
  /** Identifies the credential where its secret must not be kept. */
  key: string;
}

export interface Authenticator {
  /**
   * Reads the credential of a request, without asking the orchestrator; a page must have proved itself to this process.
   * @throws Rejection `not_logged_in` if there is none, `page_not_proven` for a cookie without a valid page token
   */
  identify(request: AuthRequest): void;
  /** Has an unknown API token checked before the body is read. Rejects with `not_logged_in`. */
  verifyToken(request: Pick<AuthRequest, 'raw'>): Promise<void>;
  /** Returns the login of a request that was identified. */
  loginOf(request: Pick<AuthRequest, 'raw'>): Login;
  /** Whether the request has a valid login; false as well if that cannot be checked now. */
  isLoggedIn(request: AuthRequest): Promise<boolean>;
}

export interface AuthenticatorDeps {
  client: Pick<OrchestratorClient, 'send'>;
  visits: Visits;
  tokens: PageTokens;
  guesses: GuessLimit;
}

const BEARER = /^Bearer +(\S+) *$/i;
/** Callboard's own secrets are far shorter. */
const MAX_SECRET_LENGTH = 512;

const keyOf = (secret: string): string => hash('sha256', secret, 'base64url');

/** Decides who may use the API, and remembers the login of a request for as long as the request lives. */
export function createAuthenticator({ client, visits, tokens, guesses }: AuthenticatorDeps): Authenticator {
  const seen = new WeakMap<IncomingMessage, Login>();
  const unknown = new Map<string, Promise<void>>();

  function credentialOf({ raw, headers, cookies }: AuthRequest): Login {
    const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
    const secret = bearer ?? cookies[sessionCookie(visits.of(raw)).name] ?? '';
    if (secret === '') {
      const text = 'Log in first: open a login link (npx callboard link prints one), or send an API token.';
      throw new Rejection('not_logged_in', text);
    }
    if (secret.length > MAX_SECRET_LENGTH) throw new Rejection('not_logged_in', 'This is not a Callboard login.');
    const login: Login = { credential: { kind: bearer === undefined ? 'page' : 'token', secret }, key: keyOf(secret) };
    if (bearer === undefined && !tokens.isValid(String(headers[PAGE_HEADER] ?? ''), secret)) {
      const text = `A cookie alone is not enough. Send the page token in the header ${PAGE_HEADER}; this server has not issued one for it yet.`;
      throw new Rejection('page_not_proven', text);
    }
    return login;
  }

  /** Rejects with `not_logged_in`. Concurrent requests with the same unknown token cause one check. */
  async function check({ credential, key }: Login, raw: IncomingMessage): Promise<void> {
    if (credential.kind === 'page' || guesses.isKnown(key)) {
      await client.send('auth_check', {}, { credential });
      return;
    }
    const asking = unknown.get(key) ?? checkUnknown(credential, key, raw);
    unknown.set(key, asking);
    await asking.finally(() => unknown.delete(key));
  }

  async function checkUnknown(credential: Credential, key: string, raw: IncomingMessage): Promise<void> {
    guesses.count(addressKey(visits.of(raw).address));
    await client.send('auth_check', {}, { credential });
    guesses.remember(key);
  }

  function loginOf({ raw }: Pick<AuthRequest, 'raw'>): Login {
    const found = seen.get(raw);
    if (found === undefined) throw new Error('this route needs no login');
    return found;
  }

  return {
    identify: (request) => void seen.set(request.raw, credentialOf(request)),
    async verifyToken(request) {
      const login = loginOf(request);
      if (login.credential.kind === 'token' && !guesses.isKnown(login.key)) await check(login, request.raw);
    },
    loginOf,
    async isLoggedIn(request) {
      try {
        await check(credentialOf(request), request.raw);
        return true;
      } catch {
        return false;
      }
    },
  };
}

/** The login cookie of this Callboard, as a visitor gets it. */
export interface SessionCookie {
  name: string;
  options: { readonly httpOnly: true; readonly sameSite: 'strict'; readonly path: string; readonly secure: boolean };
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * Returns the cookie of a visit. Its name includes the port: browsers share cookies between ports, and two Callboards may
 * run on one host. Under HTTPS it is a `__Host-` cookie, which no plain HTTP and no neighbouring domain can set or read, and no
 * other cookie is a login there; below a path it is a `__Secure-` cookie of that path, as `__Host-` ones belong to the whole host.
 */
export function sessionCookie({
  origin,
  isSecure,
  basePath,
}: Pick<Visit, 'origin' | 'isSecure' | 'basePath'>): SessionCookie {
  const { protocol, port } = new URL(origin);
  const name = `callboard_session_${port || DEFAULT_PORTS[protocol]}`;
  return {
    name: isSecure ? `${basePath === '' ? '__Host' : '__Secure'}-${name}` : name,
    options: { httpOnly: true, sameSite: 'strict', path: basePath || '/', secure: isSecure },
  };
}

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
