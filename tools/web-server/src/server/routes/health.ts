import { PROTOCOL_VERSION } from '@callboard/contract';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Gate } from '../auth/gate.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';

export interface HealthRoutesOptions {
  client: OrchestratorClient;
  gate: Gate;
  version: string;
}

const Details = z.object({
  version: z.string(),
  protocol: z.int(),
  orchestrator: z.object({
    status: z.enum(['ready', 'unreachable']),
    version: z.string().nullable(),
    seq: z.int().nullable(),
  }),
});
const Health = Details.partial().extend({ status: z.enum(['ok', 'starting']) });

/** `GET /health`: whether commands can be given. Needs no login; with one it tells more. */
export const healthRoutes: FastifyPluginAsyncZod<HealthRoutesOptions> = async (app, { client, gate, version }) => {
  app.get('/health', { schema: { response: { 200: Health, 503: Health } } }, async (request, reply) => {
    const details = (await gate.identify(request)) === null ? {} : detailsOf(client, version);
    reply.header('cache-control', 'no-store');
    if (client.status() === 'ready') return reply.send({ status: 'ok', ...details });
    return reply
      .code(503)
      .header('retry-after', '1')
      .send({ status: 'starting', ...details });
  });
};

const detailsOf = (client: OrchestratorClient, version: string): z.infer<typeof Details> => ({
  version,
  protocol: PROTOCOL_VERSION,
  orchestrator: { status: client.status(), version: client.about()?.version ?? null, seq: client.seq() },
});
