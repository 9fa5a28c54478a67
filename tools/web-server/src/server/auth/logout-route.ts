import { serviceRoutes } from '@callboard/contract/client';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { noContent, problemResponses } from '../openapi/responses.ts';
import type { Ask } from '../routes/ask.ts';
import type { SessionCookie } from './cookie.ts';

export interface LogoutOptions {
  ask: Ask;
  cookie: SessionCookie;
}

/** `POST /api/logout`: ends the login, and the event streams that it has open. */
export const logoutRoute: FastifyPluginAsyncZod<LogoutOptions> = async (app, { ask, cookie }) => {
  const schema = {
    operationId: 'auth_logout',
    tags: ['service'],
    summary: 'Ends the login',
    description: 'And the event streams that it has open. An API token has none to end.',
    response: { 204: noContent('Logged out'), ...problemResponses({ own: ['unknown_login'], isRelayed: true }) },
  };
  app.post(serviceRoutes.logOut.path, { schema }, async (request, reply) => {
    await ask(request, 'auth_logout', {});
    return reply.clearCookie(cookie.name(), cookie.options).code(204).send(null);
  });
};
