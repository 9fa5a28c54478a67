import { Health, type LoopDelay, PROTOCOL_VERSION } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { Authenticator } from '../auth/authenticator.ts';
import { json, problemsAs } from '../openapi/responses.ts';
import { withExample } from '../openapi/schemas.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';

export interface HealthRoutesOptions {
  client: OrchestratorClient;
  authenticator: Authenticator;
  version: string;
  loopDelay: () => LoopDelay;
}

const Ok = withExample(Health, { status: 'ok' });
const Starting = withExample(Health, { status: 'starting' });

/** `GET /api/health`: whether Callboard accepts commands. Needs no login; with a login the reply has more. */
export const healthRoutes: FastifyPluginAsyncZod<HealthRoutesOptions> = async (
  app,
  { client, authenticator, version, loopDelay },
) => {
  const schema = {
    operationId: 'get_health',
    tags: ['service'],
    security: [],
    summary: 'Check whether Callboard accepts commands',
    description:
      'Needs no login. With a login it also returns versions and states, the number of pending requests, the numbers of stages by column and of sessions by state, why nothing can be stored (`storeTrouble`; null while it can), and the event loop delay of both servers in the last minute, in milliseconds.',
    response: {
      200: json('Commands are accepted', Ok),
      503: json('Not ready: the orchestrator is unreachable, or still reattaching to its sessions', Starting),
      ...problemsAs(['wrong_origin']),
    },
  };
  app.get(serviceRoutes.health.path, { schema }, async (request, reply) => {
    const details = (await authenticator.isLoggedIn(request)) ? await detailsOf(client, version, loopDelay()) : {};
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
  const reported = await client.send('get_counts', {}).catch(() => null);
  return {
    version,
    protocol: PROTOCOL_VERSION,
    orchestrator: { status: client.status(), version: client.about()?.version ?? null, seq: client.seq() },
    ...(reported && { counts: reported.counts, storeTrouble: reported.storeTrouble }),
    loopDelay: { webServer, ...(reported && { orchestrator: reported.loopDelay }) },
  };
}
