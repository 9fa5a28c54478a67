import { StageId } from '@callboard/contract';
import { type RoutedCommand, routes } from '@callboard/contract/client';
import type { RouteOptions } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Authenticator } from '../auth/authenticator.ts';
import { logoutRoute } from '../auth/login-routes.ts';
import type { RequestLimit } from '../auth/rate-limits.ts';
import type { Visits } from '../auth/visits.ts';
import type { EventHub } from '../events/event-hub.ts';
import { documentRoute } from '../openapi/document.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { eventRoutes } from './events.ts';
import { type Ask, createAsk, relayRoute } from './relay.ts';
import { decisionsRoute } from './sessions.ts';

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

const params = z.object({ stageId: StageId });

/** `GET /api/sessions/:stageId/pending`: the pending requests of one stage. */
function pendingRoute(ask: Ask): RouteOptions {
  const { schema, ...all } = relayRoute('get_pending', ask);
  const { querystring: _, ...others } = schema ?? {};
  const own = { operationId: 'get_pending_of_stage', summary: 'List pending requests of a stage', tags: ['requests'] };
  return {
    ...all,
    url: '/api/sessions/:stageId/pending',
    schema: { ...others, ...own, params },
    // The schema of the route has checked it.
    handler: (request) => ask(request, 'get_pending', request.params as z.infer<typeof params>),
  };
}
