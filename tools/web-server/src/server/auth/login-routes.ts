import { setTimeout as sleep } from 'node:timers/promises';
import { Challenge, Login, LoginBody, PageToken, ProofBody } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Rejection } from '../errors.ts';
import { json, problemsAs } from '../openapi/responses.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { browserWords } from './browser-words.ts';
import type { SessionCookie } from './cookie.ts';
import type { PageTokens } from './page-tokens.ts';

export interface LoginRoutesOptions {
  client: OrchestratorClient;
  cookie: SessionCookie;
  tokens: PageTokens;
}

const COMMON = ['wrong_origin', 'internal'] as const;
const ASKING = ['bad_request', 'storage_failed', 'orchestrator_unreachable', 'no_confirmation'] as const;
const WITH_BODY = ['body_too_large', 'unsupported_media_type'] as const;

/** Longer than a login takes. */
const WAIT_MS = 10_000;
/** More browsers than these do not log in at once. */
const MAX_WAITING = 20;

/** The origin of a page of ours that makes this request, as the page itself sees it. */
const originOf = ({ headers: { host = '' } }: FastifyRequest): string => new URL(`http://${host}`).origin;

/**
 * How a browser logs in, and how its pages prove themselves; of use to pages of our own alone. Codes and secrets have
 * 256 bits, so that nobody has to be kept from guessing, and no other page can use up a limit.
 */
export const loginRoutes: FastifyPluginAsyncZod<LoginRoutesOptions> = async (app, { client, cookie, tokens }) => {
  app.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'));

  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  let waiting = 0;
  /** What the page of the login link is loading for as long as it is at work. */
  app.get('/login/wait', { schema: { hide: true } }, async (_request, reply) => {
    if (waiting >= MAX_WAITING) return reply.code(204).send();
    waiting += 1;
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    await sleep(WAIT_MS, undefined, { signal: AbortSignal.any([closing.signal, gone.signal]) }).catch(() => undefined);
    waiting -= 1;
    return reply.code(204).send();
  });

  app.post(
    serviceRoutes.logIn.path,
    {
      schema: {
        operationId: 'auth_redeem',
        tags: ['service'],
        security: [],
        summary: 'Trades the code of a login link for a login',
        description:
          'For the page that a login link opens. It has made a key pair that cannot be taken out of the browser, and sends the public half. The answer sets the cookie.',
        body: LoginBody,
        response: {
          200: json('Logged in', z.object({ login: Login })),
          ...problemsAs(['bad_login_link', ...COMMON, ...ASKING, ...WITH_BODY]),
        },
      },
    },
    async (request, reply) => {
      const { code, key } = request.body;
      const browser = browserWords(request.headers['user-agent']);
      const { secret, login } = await client.send('auth_redeem', { code, key, origin: originOf(request), browser });
      reply.setCookie(cookie.name(), secret, { ...cookie.options, expires: new Date(login.expiresAt) });
      return { login };
    },
  );

  app.get(
    serviceRoutes.loginNonce.path,
    {
      schema: {
        operationId: 'get_nonce',
        tags: ['service'],
        security: [],
        summary: 'A nonce for a page to sign',
        description: 'Good for a minute, and for this server alone.',
        response: { 200: json('The nonce', Challenge), ...problemsAs(COMMON) },
      },
    },
    async () => ({ nonce: tokens.nonce() }),
  );

  app.post(
    serviceRoutes.loginProof.path,
    {
      schema: {
        operationId: 'auth_prove',
        tags: ['service'],
        security: [],
        summary: 'Proves a page',
        description:
          'The page has signed a nonce of this server with the key of its login. It gets what it sends from then on in the header `x-callboard-page`; this server takes that until it ends, or for twelve hours.',
        body: ProofBody,
        response: {
          200: json('Proved', PageToken),
          ...problemsAs(['not_logged_in', 'page_not_proven', 'page_not_known', ...COMMON, ...ASKING, ...WITH_BODY]),
        },
      },
    },
    async (request) => {
      const secret = request.cookies[cookie.name()];
      if (!secret)
        throw new Rejection('not_logged_in', 'This browser is not logged in. npx callboard link prints a login link.');
      const { nonce, signature } = request.body;
      if (!tokens.isFresh(nonce))
        throw new Rejection('page_not_proven', 'The nonce is not of this server, or too old. Get another one.');
      const credential = { kind: 'page', secret } as const;
      const { loginId } = await client.send(
        'auth_prove',
        { origin: originOf(request), nonce, signature },
        { credential },
      );
      return { token: tokens.give(secret), loginId };
    },
  );
};
