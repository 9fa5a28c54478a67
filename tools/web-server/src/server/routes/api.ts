import rateLimit from '@fastify/rate-limit';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { Credentials } from '../auth/credentials.ts';
import type { Gate } from '../auth/gate.ts';
import { logoutRoute } from '../auth/logout-route.ts';
import { RequestCounter } from '../auth/request-counter.ts';
import { Rejection } from '../errors.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { createAsk } from './ask.ts';
import { boardRoutes } from './board.ts';
import { eventRoutes } from './events.ts';
import { projectRoutes } from './projects.ts';
import { queueRoutes } from './queue.ts';
import { sessionRoutes } from './sessions.ts';
import { stageRoutes } from './stages.ts';

export interface ApiRoutesOptions {
  client: OrchestratorClient;
  hub: EventHub;
  gate: Gate;
  credentials: Credentials;
  requestsPerSecond: number;
}

/** All of the API that needs a login. */
export const apiRoutes: FastifyPluginAsyncZod<ApiRoutesOptions> = async (app, options) => {
  const { client, hub, gate, credentials, requestsPerSecond } = options;
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

  await app.register(boardRoutes, { ask });
  await app.register(projectRoutes, { prefix: '/projects', ask });
  await app.register(stageRoutes, { prefix: '/stages', ask });
  await app.register(sessionRoutes, { prefix: '/sessions', ask });
  await app.register(queueRoutes, { prefix: '/sessions', ask });
  await app.register(eventRoutes, { prefix: '/events', hub, gate, credentials });
  await app.register(logoutRoute, { ask, gate, credentials, hub });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
};
