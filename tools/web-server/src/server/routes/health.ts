import { Health, type LoopDelay, PROTOCOL_VERSION } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import { watchLoopDelay } from '@callboard/runtime/loop-delay';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { Gate } from '../auth/gate.ts';
import { json, problemsAs } from '../openapi/responses.ts';
import { withExample } from '../openapi/schemas.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';

export interface HealthRoutesOptions {
  client: OrchestratorClient;
  gate: Gate;
  version: string;
}

const Ok = withExample(Health, { status: 'ok' });
const Starting = withExample(Health, { status: 'starting' });

/** `GET /api/health`: whether commands can be given. Needs no login; with one it tells more. */
export const healthRoutes: FastifyPluginAsyncZod<HealthRoutesOptions> = async (app, { client, gate, version }) => {
  const delays = watchLoopDelay();
  app.addHook('onClose', async () => delays.stop());
  const schema = {
    operationId: 'get_health',
    tags: ['service'],
    security: [],
    summary: 'Whether commands can be given',
    description:
      'Needs no login. With one it tells versions and states as well, and how many requests are pending, and how many stages and sessions there are by column and state, and how late the event loops of both servers were in the last minute, in milliseconds.',
    response: {
      200: json('They can', Ok),
      503: json('Not yet: the orchestrator is away, or still re-attaches to its sessions', Starting),
      ...problemsAs(['wrong_origin']),
    },
  };
  app.get(serviceRoutes.health.path, { schema }, async (request, reply) => {
    const details = (await gate.isLoggedIn(request)) ? await detailsOf(client, version, delays.read()) : {};
    reply.header('cache-control', 'no-store');
    if (client.status() === 'ready') return reply.send({ status: 'ok', ...details });
    return reply
      .code(503)
      .header('retry-after', '1')
      .send({ status: 'starting', ...details });
  });
};

async function detailsOf(
  client: OrchestratorClient,
  version: string,
  webServer: LoopDelay,
): Promise<Omit<Health, 'status'>> {
  const told = await client.send('get_counts', {}).catch(() => null);
  return {
    version,
    protocol: PROTOCOL_VERSION,
    orchestrator: { status: client.status(), version: client.about()?.version ?? null, seq: client.seq() },
    ...(told && { counts: told.counts }),
    loopDelay: { webServer, ...(told && { orchestrator: told.loopDelay }) },
  };
}
