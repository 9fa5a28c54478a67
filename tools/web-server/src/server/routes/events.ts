import { commands } from '@callboard/contract';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Credentials } from '../auth/credentials.ts';
import type { Gate, Login } from '../auth/gate.ts';
import { Rejection } from '../errors.ts';
import type { EventHub, StreamOwner } from '../events/event-hub.ts';
import { problemResponses } from '../http-error.ts';
import { wholeNumber } from './query.ts';

export interface EventRoutesOptions {
  hub: EventHub;
  gate: Gate;
  credentials: Credentials;
}

const StreamQuery = z.looseObject({ since: wholeNumber(0).optional() });
const StreamHeaders = z.looseObject({ 'last-event-id': wholeNumber(0).optional() });
const StreamParams = z.object({ streamId: z.uuid('is not the id of an event stream') });

/** `GET /`: the stream of events. `PUT /:streamId/watch`: the stages whose text a stream gets while it is written. */
export const eventRoutes: FastifyPluginAsyncZod<EventRoutesOptions> = async (app, { hub, gate, credentials }) => {
  app.addHook('preClose', async () => hub.endAll());

  app.get(
    '/',
    {
      schema: {
        summary: 'Server-sent events',
        description:
          'Begins with `stream` ({streamId, seq}); then all that came after `Last-Event-ID` (or `since`), then what happens. `resync` means: load the board anew.',
        produces: ['text/event-stream'],
        querystring: StreamQuery,
        headers: StreamHeaders,
      },
    },
    async (request, reply) => {
      hub.requireReady();
      const since = request.headers['last-event-id'] ?? request.query.since ?? null;
      reply.hijack();
      const { raw } = reply;
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) raw.setHeader(name, value);
      raw.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      hub.join(raw, since, ownerOf(gate.loginOf(request), credentials));
    },
  );

  app.put(
    '/:streamId/watch',
    {
      schema: {
        params: StreamParams,
        body: commands.watch.input,
        response: { 204: z.null().describe('Done'), ...problemResponses },
      },
    },
    async (request, reply) => {
      await hub.watch(request.params.streamId, request.body.stageIds);
      return reply.code(204).send(null);
    },
  );
};

function ownerOf({ key, secret }: Login, credentials: Credentials): StreamOwner {
  return {
    key,
    async stillAllowed() {
      try {
        await credentials.check(secret);
        return true;
      } catch (error) {
        return !(error instanceof Rejection); // an orchestrator that cannot be asked ends nobody's stream
      }
    },
  };
}
