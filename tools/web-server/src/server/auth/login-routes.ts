import rateLimit from '@fastify/rate-limit';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Rejection } from '../errors.ts';
import { sendProblem, toProblem } from '../http-error.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { COOKIE_OPTIONS, type Gate, SESSION_COOKIE } from './gate.ts';
import { plainPage, usedLinkPage } from './login-page.ts';
import { RequestCounter } from './request-counter.ts';

export interface LoginRoutesOptions {
  client: OrchestratorClient;
  gate: Gate;
  loginsPerMinute: number;
}

const isUsedLink = (error: unknown): boolean => error instanceof Rejection && error.code === 'bad_login_link';

/** `GET /login`: trades the one-time code of a login link for a cookie. Failures are pages where a page is wanted. */
export const loginRoutes: FastifyPluginAsyncZod<LoginRoutesOptions> = async (app, options) => {
  const { client, gate, loginsPerMinute } = options;
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

  const querystring = z.object({ code: z.string().max(500).default('') });
  app.get('/login', { schema: { hide: true, querystring } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    try {
      const { secret, expiresAt } = await client.send('auth_redeem', { code: request.query.code });
      reply.setCookie(SESSION_COOKIE, secret, { ...COOKIE_OPTIONS, expires: new Date(expiresAt) });
    } catch (error) {
      if (!isUsedLink(error)) throw error;
      if ((await gate.identify(request)) === null) {
        return reply.code(401).type('text/html; charset=utf-8').send(usedLinkPage());
      }
    }
    return reply.redirect('/', 303);
  });
};
