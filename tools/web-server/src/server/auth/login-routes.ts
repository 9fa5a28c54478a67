import { setTimeout as sleep } from 'node:timers/promises';
import { Challenge, Login, LoginBody, PageToken, ProofBody } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import { loopbackAddresses } from '@callboard/runtime/address-list';
import type { FastifyInstance } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Rejection } from '../errors.ts';
import { json, noContent, problemResponses, problemsAs } from '../openapi/responses.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import type { Ask } from '../routes/relay.ts';
import { type PageTokens, sessionCookie } from './authenticator.ts';
import type { RequestLimit } from './rate-limits.ts';
import { addressKey, type Visits } from './visits.ts';

export interface LoginRoutesOptions {
  client: OrchestratorClient;
  visits: Visits;
  tokens: PageTokens;
  /** Of the attempts to log in from one other machine. */
  attempts: RequestLimit;
}

const COMMON = ['wrong_origin', 'internal'] as const;
const ASKING = ['bad_request', 'storage_failed', 'orchestrator_unreachable', 'no_confirmation'] as const;
const WITH_BODY = ['body_too_large', 'unsupported_media_type'] as const;

/** Longer than a login takes. */
const WAIT_MS = 10_000;
/** How many browsers may wait at once. */
const MAX_WAITING = 20;

const redeemSchema = {
  operationId: 'auth_redeem',
  tags: ['service'],
  security: [],
  summary: 'Exchange the code of a login link for a login',
  description:
    'For the page that a login link opens. The page has created a key pair whose private half cannot leave the browser, and sends the public half. The response sets the cookie.',
  body: LoginBody,
  response: {
    200: json('Logged in', z.object({ login: Login })),
    ...problemsAs(['bad_login_link', 'session_process', 'too_many_requests', ...COMMON, ...ASKING, ...WITH_BODY]),
  },
};

const nonceSchema = {
  operationId: 'get_nonce',
  tags: ['service'],
  security: [],
  summary: 'Get a nonce for a page to sign',
  description: 'Valid for a minute, for this server process only.',
  response: { 200: json('The nonce', Challenge), ...problemsAs(COMMON) },
};

const proveSchema = {
  operationId: 'auth_prove',
  tags: ['service'],
  security: [],
  summary: 'Prove a page',
  description:
    'The page has signed a nonce of this server with the key of its login. It gets a token for the header `x-callboard-page`, which this server process accepts for twelve hours.',
  body: ProofBody,
  response: {
    200: json('Proved', PageToken),
    ...problemsAs([
      'not_logged_in',
      'page_not_proven',
      'page_not_known',
      'session_process',
      ...COMMON,
      ...ASKING,
      ...WITH_BODY,
    ]),
  },
};

/**
 * How a browser logs in and its pages prove themselves; only Callboard's own pages use it. Codes and secrets have 256 bits,
 * so guessing needs no limit, and no other page of this machine can exhaust one. Other machines are kept from flooding.
 */
export const loginRoutes: FastifyPluginAsyncZod<LoginRoutesOptions> = async (app, options) => {
  const { client, visits, tokens, attempts } = options;
  app.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'));
  addWaitRoute(app);

  app.post(serviceRoutes.logIn.path, { schema: redeemSchema }, async (request, reply) => {
    const { code, key } = request.body;
    const visit = visits.of(request.raw);
    const { origin, address, peer } = visit;
    const isElsewhere = !loopbackAddresses.has(address);
    if (isElsewhere) attempts.count(addressKey(address));
    const program = browserName(request.headers['user-agent']);
    const browser = isElsewhere ? `${program} (${address})` : program;
    const { secret, login } = await client.send('auth_redeem', { code, key, origin, browser }, { peer });
    const cookie = sessionCookie(visit);
    const orphaned = sessionCookie({ ...visit, isSecure: false }); // of plain HTTP on the same port
    if (visit.isSecure && request.cookies[orphaned.name] !== undefined)
      reply.clearCookie(orphaned.name, orphaned.options);
    reply.setCookie(cookie.name, secret, { ...cookie.options, expires: new Date(login.expiresAt) });
    return { login };
  });

  app.get(serviceRoutes.loginNonce.path, { schema: nonceSchema }, async () => ({ nonce: tokens.nonce() }));

  app.post(serviceRoutes.loginProof.path, { schema: proveSchema }, async (request) => {
    const visit = visits.of(request.raw);
    const secret = request.cookies[sessionCookie(visit).name];
    if (!secret)
      throw new Rejection('not_logged_in', 'This browser is not logged in. npx callboard link prints a login link.');
    const { nonce, signature } = request.body;
    if (!tokens.isFresh(nonce))
      throw new Rejection('page_not_proven', 'The nonce is not from this server, or has expired. Get another one.');
    const credential = { kind: 'page', secret } as const;
    const { loginId } = await client.send(
      'auth_prove',
      { origin: visit.origin, nonce, signature },
      { credential, peer: visit.peer },
    );
    return { token: tokens.issue(secret), loginId };
  });
};

/** `GET /login/wait`: the page of a login link keeps this request open while it logs in, so that the browser shows it as loading. */
function addWaitRoute(app: FastifyInstance): void {
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  let waiting = 0;
  app.get('/login/wait', { schema: { hide: true } }, async (_request, reply) => {
    if (waiting >= MAX_WAITING) return reply.code(204).send();
    waiting += 1;
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    await sleep(WAIT_MS, undefined, { signal: AbortSignal.any([closing.signal, gone.signal]) }).catch(() => undefined);
    waiting -= 1;
    return reply.code(204).send();
  });
}

export interface LogoutOptions {
  ask: Ask;
  visits: Visits;
}

/** `POST /api/logout`: ends the login and its open event streams. */
export const logoutRoute: FastifyPluginAsyncZod<LogoutOptions> = async (app, { ask, visits }) => {
  const schema = {
    operationId: 'auth_logout',
    tags: ['service'],
    summary: 'Log out',
    description: 'Ends the login and its open event streams. An API token has no login to end.',
    response: { 204: noContent('Logged out'), ...problemResponses({ own: ['unknown_login'], isRelayed: true }) },
  };
  app.post(serviceRoutes.logOut.path, { schema }, async (request, reply) => {
    await ask(request, 'auth_logout', {});
    const cookie = sessionCookie(visits.of(request.raw));
    return reply.clearCookie(cookie.name, cookie.options).code(204).send(null);
  });
};

/** In this order: most browsers name others as well. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const nameIn = (text: string, names: readonly (readonly [RegExp, string])[]) =>
  names.find(([pattern]) => pattern.test(text))?.[1];

/** Returns a readable name for a `User-Agent`: `Firefox on Linux`. */
export function browserName(userAgent = ''): string {
  const browser = nameIn(userAgent, BROWSERS) ?? 'A browser';
  const system = nameIn(userAgent, SYSTEMS);
  return system === undefined ? browser : `${browser} on ${system}`;
}
