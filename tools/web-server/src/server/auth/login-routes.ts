import rateLimit from '@fastify/rate-limit';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Rejection } from '../errors.ts';
import { sendProblem, toProblem } from '../http-error.ts';
import { noContent, problemsAs } from '../openapi/responses.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import type { SessionCookie } from './cookie.ts';
import type { Gate } from './gate.ts';
import { plainPage, usedLinkPage } from './login-page.ts';
import { RequestCounter } from './request-counter.ts';

export interface LoginRoutesOptions {
  client: OrchestratorClient;
  gate: Gate;
  cookie: SessionCookie;
  loginsPerMinute: number;
}

const isUsedLink = (error: unknown): boolean => error instanceof Rejection && error.code === 'bad_login_link';

/** `GET /login`: trades the one-time code of a login link for a cookie. Failures are pages where a page is wanted. */
export const loginRoutes: FastifyPluginAsyncZod<LoginRoutesOptions> = async (app, options) => {
  const { client, gate, cookie, loginsPerMinute } = options;
  await app.register(rateLimit, {
    store: RequestCounter,
    max: loginsPerMinute,
    timeWindow: 60_000,
    errorResponseBuilder: () =>
      new Rejection('too_many_requests', 'Too many logins were tried from here; wait a minute, then try again.'),
  });

  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error);
    if (problem.status === 500 || !request.headers.accept?.includes('text/html')) {
      return sendProblem(error, request.log, reply);
    }
    if (problem.status === 503) reply.header('retry-after', '1');
    return reply
      .code(problem.status)
      .type('text/html; charset=utf-8')
      .send(plainPage('Login is not possible just now', [problem.detail, 'Reload this page to try again.']));
  });

  const schema = {
    operationId: 'auth_redeem',
    tags: ['service'],
    security: [],
    summary: 'Trades a login link for a cookie',
    description: 'For browsers. A link is good once; a browser that is logged in already is led to the board again.',
    querystring: z.object({ code: z.string().max(500).default('') }),
    response: {
      303: noContent('Logged in: to the board'),
      401: { description: 'The link was used, or has expired', content: { 'text/html': { schema: z.string() } } },
      ...problemsAs([
        'bad_request',
        'wrong_origin',
        'too_many_requests',
        'internal',
        'orchestrator_unreachable',
        'no_confirmation',
      ]),
    },
  };
  app.get('/login', { schema }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    try {
      const { secret, expiresAt } = await client.send('auth_redeem', { code: request.query.code });
      reply.setCookie(cookie.name(), secret, { ...cookie.options, expires: new Date(expiresAt) });
    } catch (error) {
      if (!isUsedLink(error)) throw error;
      if ((await gate.identify(request)) === null) {
        return reply.code(401).type('text/html; charset=utf-8').send(usedLinkPage());
      }
    }
    return reply.redirect('/', 303);
  });
};
