import { commands, wholeNumber } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Authenticator, Login } from '../auth/authenticator.ts';
import { Rejection } from '../errors.ts';
import type { EventHub, StreamOwner } from '../events/event-hub.ts';
import { noContent, problemResponses, withExample } from '../openapi/responses.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import type { Ask } from './relay.ts';

export interface EventRoutesOptions {
  client: OrchestratorClient;
  hub: EventHub;
  authenticator: Authenticator;
  ask: Ask;
  streamsPerLogin: number;
}

const STREAM_EXAMPLE = `event: mode-changed
id: 42
at: 2026-01-02T03:04:05.678Z
data: {"stageId":"STAGE-1","mode":"plan"}

`;
/** Proxies end a request that has no answer after some 30 to 60 seconds. */
const MAX_WAIT_MS = 25_000;
const StreamQuery = z.looseObject({ since: wholeNumber(0).optional(), wait: wholeNumber(0, MAX_WAIT_MS).optional() });
const StreamHeaders = z.looseObject({ 'last-event-id': wholeNumber(0).optional() });
const Stream = withExample(z.string(), STREAM_EXAMPLE);
const StreamParams = z.object({ streamId: z.uuid('is not the id of an event stream') });

/** `GET /api/events`: the event stream. `PUT .../:streamId/watch`: sets the stages whose live text the stream carries. */
export const eventRoutes: FastifyPluginAsyncZod<EventRoutesOptions> = async (app, options) => {
  const { client, hub, authenticator, ask, streamsPerLogin } = options;
  app.addHook('preClose', async () => hub.endAll());

  app.get(
    serviceRoutes.events.path,
    {
      schema: {
        operationId: 'get_events',
        tags: ['events'],
        summary: 'Stream events as server-sent events',
        description:
          'Begins with `stream` ({streamId, seq}), `orchestrator-status` and `notices-updated`. Then come the stored events after `Last-Event-ID` (or `since`), each once and in order, and new events as they happen. `resync` means: reload the board. A client that reads too slowly is disconnected; it reconnects and gets the missed events. With `wait`, the stream ends with its first events, or after so many milliseconds without any: for clients behind a proxy that passes on only complete responses.',
        querystring: StreamQuery,
        headers: StreamHeaders,
        response: {
          200: {
            description: 'A stream that lasts as long as its connection',
            content: { 'text/event-stream': { schema: Stream } },
          },
          ...problemResponses({ own: ['bad_request', 'too_many_streams', 'orchestrator_unreachable'] }),
        },
      },
    },
    async (request, reply) => {
      hub.requireReady();
      const login = authenticator.loginOf(request);
      const { loginId } = await ask(request, 'auth_check', {});
      hub.requireRoom(login.key, streamsPerLogin);
      const since = request.headers['last-event-id'] ?? request.query.since ?? null;
      reply.hijack();
      const { raw } = reply;
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) raw.setHeader(name, value);
      // The stream ends with its connection, so chunks need no lengths: events are written to the socket as they are.
      raw.useChunkedEncodingByDefault = false;
      raw.shouldKeepAlive = false;
      raw.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      raw.flushHeaders();
      const waitMs = request.query.wait ?? null;
      hub.join(raw.socket ?? raw, { since, waitMs }, ownerOf(login, loginId, client));
    },
  );

  app.put(
    serviceRoutes.watch.path,
    {
      schema: {
        operationId: 'watch',
        tags: ['events'],
        summary: 'Set the stages whose live text a stream carries',
        description: 'Replaces the current set. Their text comes as `text-delta` events.',
        params: StreamParams,
        body: withExample(commands.watch.input, { stageIds: ['STAGE-1'] }),
        response: {
          204: noContent('Done'),
          ...problemResponses({ own: ['not_found'], isRelayed: true, hasBody: true }),
        },
      },
    },
    async (request, reply) => {
      await ask(request, 'auth_check', {});
      await hub.watch(request.params.streamId, request.body.stageIds, authenticator.loginOf(request).key);
      return reply.code(204).send(null);
    },
  );
};

function ownerOf({ key, credential }: Login, loginId: string | null, client: OrchestratorClient): StreamOwner {
  return {
    key,
    loginId,
    async stillAllowed() {
      try {
        await client.send('auth_check', {}, { credential });
        return true;
      } catch (error) {
        // If the orchestrator cannot be asked, no stream is ended.
        return !(error instanceof Rejection && error.code === 'not_logged_in');
      }
    },
  };
}
