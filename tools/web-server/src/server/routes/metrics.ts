import { hash } from 'node:crypto';
import type { LoopDelay } from '@callboard/contract';
import { addProcessMetrics } from '@callboard/runtime/process-metrics';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { Gauge, Registry } from 'prom-client';
import type { GuessLimit } from '../auth/rate-limits.ts';
import { OrchestratorUnreachable, Rejection } from '../errors.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { addressKey, type Visits } from '../reach/visits.ts';

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
