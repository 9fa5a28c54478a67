import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Credential, PAGE_HEADER } from '@callboard/contract';
import { Rejection } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { addressKey, type Visits } from '../reach/visits.ts';
import { sessionCookie } from './cookie.ts';
import type { PageTokens } from './page-tokens.ts';
import type { GuessLimit } from './rate-limits.ts';

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
