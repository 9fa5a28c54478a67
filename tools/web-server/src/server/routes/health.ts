import { hash } from 'node:crypto';
import { Health, type LoopDelay, PROTOCOL_VERSION } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import { addProcessMetrics } from '@callboard/runtime/process-metrics';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { Gauge, Registry } from 'prom-client';
import type { Authenticator } from '../auth/authenticator.ts';
import type { GuessLimit } from '../auth/rate-limits.ts';
import { addressKey, type Visits } from '../auth/visits.ts';
import { OrchestratorUnreachable, Rejection } from '../errors.ts';
import type { EventHub } from '../events/event-hub.ts';
import { json, problemsAs, withExample } from '../openapi/responses.ts';
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

export interface MetricsRouteOptions {
  client: OrchestratorClient;
  hub: Pick<EventHub, 'openStreams'>;
  guesses: GuessLimit;
  visits: Visits;
  loopDelay: () => LoopDelay;
}

const BEARER = /^Bearer +(\S{1,512}) *$/i;
const NO_TOKEN =
  'Metrics need a token of their own: send it as "Authorization: Bearer ...". Make one in the dialog Logins on the board.';

/**
 * `GET /metrics` in Prometheus' text format: the orchestrator's figures, then those of this process. While the orchestrator
 * does not answer, only the latter, for a token that it accepted before.
 */
export const metricsRoute: FastifyPluginAsyncZod<MetricsRouteOptions> = async (app, options) => {
  const { client, guesses, visits } = options;
  const registry = ownFigures(options);

  /** Rejects with `not_logged_in`. Returns an empty text if the orchestrator cannot be asked. */
  async function ofOrchestrator(token: string, address: string): Promise<string> {
    const key = `metrics ${hash('sha256', token, 'base64url')}`;
    if (!guesses.isKnown(key)) guesses.count(addressKey(address));
    try {
      const { text } = await client.send('get_metrics', { token });
      guesses.remember(key);
      return text;
    } catch (error) {
      if (error instanceof OrchestratorUnreachable && guesses.isKnown(key)) return '';
      throw error;
    }
  }

  app.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new Rejection('not_logged_in', NO_TOKEN);
    const text = await ofOrchestrator(token, visits.of(request.raw).address);
    reply.header('content-type', registry.contentType).header('cache-control', 'no-store');
    return reply.send(`${text}${await registry.metrics()}`);
  });
};

function ownFigures({ client, hub, loopDelay }: MetricsRouteOptions): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: 'callboard_orchestrator_up',
    help: 'Whether the web server reaches the orchestrator.',
    registers,
    collect() {
      this.set(client.status() === 'ready' ? 1 : 0);
    },
  });
  new Gauge({
    name: 'callboard_event_streams',
    help: 'Open event streams: about one for each browser.',
    registers,
    collect() {
      this.set(hub.openStreams());
    },
  });
  addProcessMetrics('web_server', loopDelay, registry);
  return registry;
}
