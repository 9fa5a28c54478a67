import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { Authenticator } from '../auth/authenticator.ts';
import { logoutRoute } from '../auth/login-routes.ts';
import type { RequestLimit } from '../auth/rate-limits.ts';
import type { EventHub } from '../events/event-hub.ts';
import { documentRoute } from '../openapi/document.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import type { Visits } from '../reach/visits.ts';
import { boardRelays, pendingRoute } from './board.ts';
import { beyondBudgetRelays, budgetRelays } from './budgets.ts';
import { commentRelays } from './comments.ts';
import { decisionsRoute } from './decisions.ts';
import { eventRoutes } from './events.ts';
import { forkRelays, rewindRelays } from './going-back.ts';
import { holdRelays } from './holds.ts';
import { goOnRelays, limitRelays } from './limits.ts';
import { loginRelays } from './logins.ts';
import { machineRelays } from './machines.ts';
import { moveInRelays } from './move-in.ts';
import { projectRelays } from './projects.ts';
import { pullRequestRelays } from './pull-requests.ts';
import { pushRelays } from './push.ts';
import { queueRelays } from './queue.ts';
import { createAsk, type Relays, relayRoute } from './relay.ts';
import { requestRuleRelays, ruleRelays } from './rules.ts';
import { requestRelays, sessionRelays } from './sessions.ts';
import { stageRelays } from './stages.ts';
import { trashRelays } from './trash.ts';
import { webhookRelays } from './webhooks.ts';
import { workspaceRelays } from './workspace.ts';

export interface ApiRoutesOptions {
  client: OrchestratorClient;
  hub: EventHub;
  authenticator: Authenticator;
  visits: Visits;
  limit: RequestLimit;
  streamsPerLogin: number;
}

const relays: Record<string, Relays> = {
  board: { ...boardRelays, ...limitRelays, ...holdRelays, ...budgetRelays, ...machineRelays },
  projects: { ...projectRelays, ...moveInRelays },
  stages: { ...stageRelays, ...forkRelays, ...pullRequestRelays },
  review: commentRelays,
  sessions: { ...sessionRelays, ...rewindRelays, ...goOnRelays, ...beyondBudgetRelays },
  queue: queueRelays,
  requests: { ...requestRelays, ...requestRuleRelays, ...pushRelays },
  rules: ruleRelays,
  service: loginRelays,
  trash: trashRelays,
  webhooks: webhookRelays,
  workspace: workspaceRelays,
};

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

  for (const [tag, group] of Object.entries(relays)) {
    for (const [type, notes] of Object.entries(group)) {
      app.route(relayRoute(type as keyof typeof group, tag, notes, ask)); // Object.entries loses the type of the keys
    }
  }
  app.route(pendingRoute(ask));
  app.route(decisionsRoute(ask));
  await app.register(eventRoutes, { client, hub, authenticator, ask, streamsPerLogin });
  await app.register(logoutRoute, { ask, visits });
  await app.register(documentRoute, { ask });
};
