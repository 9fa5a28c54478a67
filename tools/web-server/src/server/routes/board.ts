import { StageId } from '@callboard/contract';
import type { RouteOptions } from 'fastify';
import { z } from 'zod';
import type { Ask } from './relay.ts';
import { relayRoute } from './relay.ts';

const params = z.object({ stageId: StageId });

/** `GET /api/sessions/:stageId/pending`: the pending requests of one stage. */
export function pendingRoute(ask: Ask): RouteOptions {
  const all = relayRoute('get_pending', ask);
  return {
    ...all,
    url: '/api/sessions/:stageId/pending',
    schema: { ...all.schema, operationId: 'get_pending_of_stage', summary: 'List pending requests of a stage', params },
    // The schema of the route has checked it.
    handler: (request) => ask(request, 'get_pending', request.params as z.infer<typeof params>),
  };
}
