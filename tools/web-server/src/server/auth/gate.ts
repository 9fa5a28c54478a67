import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Credential, PAGE_HEADER } from '@callboard/contract';
import { Rejection } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import type { SessionCookie } from './cookie.ts';
import type { GuessLimit } from './guess-limit.ts';
import type { PageTokens } from './page-tokens.ts';

/** What the gate reads of a request. */
export interface Visitor {
  raw: IncomingMessage;
  headers: IncomingMessage['headers'];
  cookies: Readonly<Record<string, string | undefined>>;
}

/** What a request shows. It travels with each command and is checked where that is carried out. */
export interface Login {
  credential: Credential;
  /** Names the credential where its secret must not be kept. */
  key: string;
}

export interface Gate {
  /**
   * Looks at what the request shows, without asking anybody: a page has to have proved itself to this process.
   * @throws Rejection `not_logged_in` for a request that shows nothing, `page_not_proven` for a cookie without its page
   */
  look(visitor: Visitor): void;
  /** Has an API token checked that was never seen here, before a body is read for it. Rejects with `not_logged_in`. */
  admit(visitor: Pick<Visitor, 'raw'>): Promise<void>;
  /** What a request showed that the gate has looked at. */
  loginOf(visitor: Pick<Visitor, 'raw'>): Login;
  /** Whether the request shows a good login; false also when that cannot be found out now. */
  isLoggedIn(visitor: Visitor): Promise<boolean>;
}

export interface GateParts {
  client: Pick<OrchestratorClient, 'send'>;
  cookie: SessionCookie;
  tokens: PageTokens;
  guesses: GuessLimit;
}

const BEARER = /^Bearer +(\S+) *$/i;
/** Ours are far shorter. */
const MAX_SECRET_LENGTH = 512;

const keyOf = (secret: string): string => hash('sha256', secret, 'base64url');

/** Decides who may use the API, and remembers what was shown for as long as the request lives. */
export function createGate({ client, cookie, tokens, guesses }: GateParts): Gate {
  const seen = new WeakMap<IncomingMessage, Login>();
  const unknown = new Map<string, Promise<void>>();

  function shownBy({ headers, cookies }: Visitor): Login {
    const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
    const secret = bearer ?? cookies[cookie.name()] ?? '';
    if (secret === '') {
      const words = 'Log in first: open a login link (npx callboard link prints one), or send an API token.';
      throw new Rejection('not_logged_in', words);
    }
    if (secret.length > MAX_SECRET_LENGTH) throw new Rejection('not_logged_in', 'This is not a login of Callboard.');
    const login: Login = { credential: { kind: bearer === undefined ? 'page' : 'token', secret }, key: keyOf(secret) };
    if (bearer === undefined && !tokens.isGood(String(headers[PAGE_HEADER] ?? ''), secret)) {
      const words = `A cookie alone is no login. The page proves itself with the header ${PAGE_HEADER}, which this server has not given to it yet.`;
      throw new Rejection('page_not_proven', words);
    }
    return login;
  }

  /** Rejects with `not_logged_in`. Of an unknown token that is shown many times at once it is asked once. */
  async function check({ credential, key }: Login): Promise<void> {
    if (credential.kind === 'page' || guesses.isKnown(key)) {
      await client.send('auth_check', {}, { credential });
      return;
    }
    const asking = unknown.get(key) ?? askOf(credential, key);
    unknown.set(key, asking);
    await asking.finally(() => unknown.delete(key));
  }

  async function askOf(credential: Credential, key: string): Promise<void> {
    guesses.count();
    await client.send('auth_check', {}, { credential });
    guesses.remember(key);
  }

  function loginOf({ raw }: Pick<Visitor, 'raw'>): Login {
    const found = seen.get(raw);
    if (found === undefined) throw new Error('this route is not behind the gate');
    return found;
  }

  return {
    look: (visitor) => void seen.set(visitor.raw, shownBy(visitor)),
    async admit(visitor) {
      const login = loginOf(visitor);
      if (login.credential.kind === 'token' && !guesses.isKnown(login.key)) await check(login);
    },
    loginOf,
    async isLoggedIn(visitor) {
      try {
        await check(shownBy(visitor));
        return true;
      } catch {
        return false;
      }
    },
  };
}
