import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { EventHub } from '../events/event-hub.ts';
import { problemResponses } from '../http-error.ts';
import type { Ask } from '../routes/ask.ts';
import type { Credentials } from './credentials.ts';
import { COOKIE_OPTIONS, type Gate, SESSION_COOKIE } from './gate.ts';

export interface LogoutOptions {
  ask: Ask;
  gate: Gate;
  credentials: Credentials;
  hub: EventHub;
}

/** `POST /logout`: ends the login, and the event streams that it has open. */
export const logoutRoute: FastifyPluginAsyncZod<LogoutOptions> = async (app, { ask, gate, credentials, hub }) => {
  const response = { 204: z.null().describe('Logged out'), ...problemResponses };
  app.post('/logout', { schema: { response } }, async (request, reply) => {
    const { secret, key } = gate.loginOf(request);
    await ask(request, 'auth_logout', { secret });
    credentials.forget(secret);
    hub.endOwnedBy(key);
    return reply.clearCookie(SESSION_COOKIE, COOKIE_OPTIONS).code(204).send(null);
  });
};
