import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { EventHub } from '../events/event-hub.ts';
import { noContent, problemResponses } from '../openapi/responses.ts';
import type { Ask } from '../routes/ask.ts';
import type { SessionCookie } from './cookie.ts';
import type { Credentials } from './credentials.ts';
import type { Gate } from './gate.ts';

export interface LogoutOptions {
  ask: Ask;
  gate: Gate;
  cookie: SessionCookie;
  credentials: Credentials;
  hub: EventHub;
}

/** `POST /api/logout`: ends the login, and the event streams that it has open. */
export const logoutRoute: FastifyPluginAsyncZod<LogoutOptions> = async (app, options) => {
  const { ask, gate, cookie, credentials, hub } = options;
  const schema = {
    operationId: 'auth_logout',
    tags: ['service'],
    summary: 'Ends the login',
    description: 'And the event streams that it has open.',
    response: { 204: noContent('Logged out'), ...problemResponses({ isRelayed: true }) },
  };
  app.post('/api/logout', { schema }, async (request, reply) => {
    const { secret, key } = gate.loginOf(request);
    await ask(request, 'auth_logout', { secret });
    credentials.forget(secret);
    hub.endOwnedBy(key);
    return reply.clearCookie(cookie.name(), cookie.options).code(204).send(null);
  });
};
