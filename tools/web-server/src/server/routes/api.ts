import { type RoutedCommand, routes } from '@callboard/contract/client';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { Authenticator } from '../auth/authenticator.ts';
import { logoutRoute } from '../auth/login-routes.ts';
import type { RequestLimit } from '../auth/rate-limits.ts';
import type { EventHub } from '../events/event-hub.ts';
import { documentRoute } from '../openapi/document.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import type { Visits } from '../reach/visits.ts';
import { pendingRoute } from './board.ts';
import { decisionsRoute } from './decisions.ts';
import { eventRoutes } from './events.ts';
import { createAsk, relayRoute } from './relay.ts';

export interface ApiRoutesOptions {
  client: OrchestratorClient;
  hub: EventHub;
  authenticator: Authenticator;
  visits: Visits;
  limit: RequestLimit;
  streamsPerLogin: number;
}

/** Its route also returns files. */
const isOwn = (type: string) => type === 'get_decisions';

/** The part of the API that needs a login. */
export const apiRoutes: FastifyPluginAsyncZod<ApiRoutesOptions> = async (app, options) => {
  const { client, hub, authenticator, visits, limit, streamsPerLogin } = options;
  const ask = createAsk({ client, authenticator, visits });

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('cache-control', 'no-store');
    authenticator.identify(request); // a request without a login is refused at once, and counts against nobody's limit
    limit.count(authenticator.loginOf(request).key);
    done();
  });
  // Before the body is parsed.
  app.addHook('preParsing', (request) => authenticator.verifyToken(request));

  for (const type of Object.keys(routes).filter((type) => !isOwn(type))) {
    app.route(relayRoute(type as RoutedCommand, ask)); // Object.keys loses the type of the keys
  }
  app.route(pendingRoute(ask));
  app.route(decisionsRoute(ask));
  await app.register(eventRoutes, { client, hub, authenticator, ask, streamsPerLogin });
  await app.register(logoutRoute, { ask, visits });
  await app.register(documentRoute, { ask });
};
