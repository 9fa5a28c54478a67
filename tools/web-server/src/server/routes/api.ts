import rateLimit from '@fastify/rate-limit';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { SessionCookie } from '../auth/cookie.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { Gate } from '../auth/gate.ts';
import { logoutRoute } from '../auth/logout-route.ts';
import { RequestCounter } from '../auth/request-counter.ts';
import { Rejection } from '../errors.ts';
import type { EventHub } from '../events/event-hub.ts';
import { documentRoute } from '../openapi/document-route.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { createAsk } from './ask.ts';
import { boardRelays, pendingRoute } from './board.ts';
import { decisionsRoute } from './decisions.ts';
import { eventRoutes } from './events.ts';
import { projectRelays } from './projects.ts';
import { queueRelays } from './queue.ts';
import { type Relays, relayRoute } from './relay.ts';
import { requestRelays, sessionRelays } from './sessions.ts';
import { stageRelays } from './stages.ts';

export interface ApiRoutesOptions {
  client: OrchestratorClient;
  hub: EventHub;
  gate: Gate;
  cookie: SessionCookie;
  credentials: Credentials;
  requestsPerSecond: number;
}

const relays: Record<string, Relays> = {
  board: boardRelays,
  projects: projectRelays,
  stages: stageRelays,
  sessions: sessionRelays,
  queue: queueRelays,
  requests: requestRelays,
};

/** All of the API that needs a login. */
export const apiRoutes: FastifyPluginAsyncZod<ApiRoutesOptions> = async (app, options) => {
  const { client, hub, gate, cookie, credentials, requestsPerSecond } = options;
  const ask = createAsk({ client, gate });

  await app.register(rateLimit, {
    store: RequestCounter,
    max: requestsPerSecond,
    timeWindow: 1_000,
    keyGenerator: (request) => gate.keyOf(request) ?? request.ip,
    errorResponseBuilder: () =>
      new Rejection('too_many_requests', `More than ${requestsPerSecond} requests in a second; slow down.`),
  });
  app.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'));
  // After the rate limit, which runs in onRequest, and before the body is read.
  app.addHook('preParsing', (request) => gate.admit(request));

  for (const [tag, group] of Object.entries(relays)) {
    for (const [type, notes] of Object.entries(group)) {
      app.route(relayRoute(type as keyof typeof group, tag, notes, ask)); // Object.entries forgets the type of the keys
    }
  }
  app.route(pendingRoute(ask));
  app.route(decisionsRoute(ask));
  await app.register(eventRoutes, { hub, gate, credentials });
  await app.register(logoutRoute, { ask, gate, cookie, credentials, hub });
  await app.register(documentRoute);
};
