import type { IncomingMessage } from 'node:http';
import type { Actor } from '@callboard/contract';
import { Rejection } from '../errors.ts';
import type { SessionCookie } from './cookie.ts';
import { type Credentials, credentialKey } from './credentials.ts';

/** What the gate reads of a request. */
interface Visitor {
  raw: IncomingMessage;
  headers: IncomingMessage['headers'];
  cookies: Readonly<Record<string, string | undefined>>;
}

export interface Login {
  actor: Actor;
  secret: string;
  /** Names the login where the secret must not be kept. */
  key: string;
}

export interface Gate {
  /** Lets the request in, or rejects with `not_logged_in`. */
  admit(visitor: Visitor): Promise<void>;
  /** The login of an admitted request. */
  loginOf(visitor: Pick<Visitor, 'raw'>): Login;
  /** The login that the request shows, if it is good; null also when that cannot be found out now. */
  identify(visitor: Visitor): Promise<Login | null>;
  /** Names the credential that the request shows, good or not; null without one. */
  keyOf(visitor: Visitor): string | null;
}

const BEARER = /^Bearer +(\S+) *$/i;

/** Decides who may use the API, and remembers who it was for as long as the request lives. */
export function createGate({ credentials, cookie }: { credentials: Credentials; cookie: SessionCookie }): Gate {
  const admitted = new WeakMap<IncomingMessage, Login>();

  /** The bearer token, or else the cookie; null without either. */
  function secretOf({ headers, cookies }: Visitor): string | null {
    const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
    return bearer ?? (cookies[cookie.name()] || null);
  }

  async function login(secret: string): Promise<Login> {
    return { actor: await credentials.check(secret), secret, key: credentialKey(secret) };
  }

  return {
    async admit(visitor) {
      const secret = secretOf(visitor);
      if (secret === null) {
        const words = 'Sign in first: open the login link that Callboard prints when it starts, or send an API token.';
        throw new Rejection('not_logged_in', words);
      }
      admitted.set(visitor.raw, await login(secret));
    },
    loginOf({ raw }) {
      const found = admitted.get(raw);
      if (found === undefined) throw new Error('this route is not behind the gate');
      return found;
    },
    async identify(visitor) {
      const secret = secretOf(visitor);
      return secret === null ? null : await login(secret).catch(() => null);
    },
    keyOf(visitor) {
      const secret = secretOf(visitor);
      return secret === null ? null : credentialKey(secret);
    },
  };
}
