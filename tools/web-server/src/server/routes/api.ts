import { Readable } from 'node:stream';
import { commands, csvLine, type Decision, DecisionFilter, StageId, wholeNumber } from '@callboard/contract';
import { type RoutedCommand, routes, serviceRoutes } from '@callboard/contract/client';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Authenticator, Login } from '../auth/authenticator.ts';
import { logoutRoute } from '../auth/login-routes.ts';
import type { RequestLimit } from '../auth/rate-limits.ts';
import type { Visits } from '../auth/visits.ts';
import { Rejection } from '../errors.ts';
import type { EventHub, StreamOwner } from '../events/event-hub.ts';
import { documentRoute } from '../openapi/document.ts';
import { noContent, problemResponses, withExample } from '../openapi/responses.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { type Ask, createAsk, relayRoute } from './relay.ts';

export interface ApiRoutesOptions {
  client: OrchestratorClient;
  hub: EventHub;
  authenticator: Authenticator;
  visits: Visits;
  limit: RequestLimit;
  streamsPerLogin: number;
}

/** Its route also returns files. */
const isOwn = (type: string) => type === 'get_decisions';

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

  for (const type of Object.keys(routes).filter((type) => !isOwn(type))) {
    app.route(relayRoute(type as RoutedCommand, ask)); // Object.keys loses the type of the keys
  }
  app.route(pendingRoute(ask));
  app.route(decisionsRoute(ask));
  await app.register(eventRoutes, { client, hub, authenticator, ask, streamsPerLogin });
  await app.register(logoutRoute, { ask, visits });
  await app.register(documentRoute, { ask });
};

const params = z.object({ stageId: StageId });

/** `GET /api/sessions/:stageId/pending`: the pending requests of one stage. */
function pendingRoute(ask: Ask): RouteOptions {
  const { schema, ...all } = relayRoute('get_pending', ask);
  const { querystring: _, ...others } = schema ?? {};
  const own = { operationId: 'get_pending_of_stage', summary: 'List pending requests of a stage', tags: ['requests'] };
  return {
    ...all,
    url: '/api/sessions/:stageId/pending',
    schema: { ...others, ...own, params },
    // The schema of the route has checked it.
    handler: (request) => ask(request, 'get_pending', request.params as z.infer<typeof params>),
  };
}

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
const eventRoutes: FastifyPluginAsyncZod<EventRoutesOptions> = async (app, options) => {
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

/** The limit of one page; an export reads as many pages as it needs. */
const MAX_PAGE = 1_000;

const Query = DecisionFilter.extend({
  limit: wholeNumber(1).optional(),
  format: z.enum(['json', 'csv', 'jsonl']).optional(),
});

/** `GET /api/decisions`: the decision log, as a page of JSON or as a file. */
function decisionsRoute(ask: Ask): RouteOptions {
  async function handler(request: FastifyRequest, reply: FastifyReply) {
    // The schema of the route has checked and converted it.
    const { format = formatOf(request), ...filter } = request.query as z.infer<typeof Query>;
    if (format === 'json') {
      if (filter.limit === undefined || filter.limit <= MAX_PAGE) return ask(request, 'get_decisions', filter);
      throw new Rejection('bad_request', `limit: must be at most ${MAX_PAGE}; only a file may have more.`);
    }
    const { limit = Number.POSITIVE_INFINITY } = filter;
    const page = (before = filter.before) =>
      ask(request, 'get_decisions', { ...filter, before, limit: Math.min(limit, MAX_PAGE) });
    const { contentType, extension } = exportFormats[format];
    const text = exportText(exportFormats[format], await page(), page, limit);
    reply.header('content-disposition', `attachment; filename="decisions.${extension}"`);
    return reply.type(contentType).send(Readable.from(text));
  }
  return { ...relayRoute('get_decisions', ask, { query: Query, files: ['text/csv', 'application/jsonl'] }), handler };
}

function formatOf({ headers: { accept = '' } }: FastifyRequest) {
  if (accept.includes('text/csv')) return 'csv';
  return accept.includes('application/jsonl') ? 'jsonl' : 'json';
}

/** A file format with one line for each decision. */
export interface ExportFormat {
  contentType: string;
  extension: string;
  /** The first line; empty if the format has none. */
  head: string;
  line: (decision: Decision) => string;
}

const COLUMNS = [
  'at',
  'stageId',
  'requestId',
  'kind',
  'toolName',
  'asked',
  'toolUseId',
  'outcome',
  'by',
  'waitedMs',
  'reason',
  'answers',
  'updatedInput',
  'delivery',
  'lost',
  'settlement',
  'stageTitle',
  'projectId',
  'denial',
  'device',
  'hosts',
] as const satisfies readonly (keyof Decision)[];

const exportFormats = {
  csv: {
    contentType: 'text/csv; charset=utf-8',
    extension: 'csv',
    head: csvLine(COLUMNS),
    line: (decision) => csvLine(COLUMNS.map((column) => decision[column])),
  },
  jsonl: {
    contentType: 'application/jsonl; charset=utf-8',
    extension: 'jsonl',
    head: '',
    line: (decision) => `${JSON.stringify(decision)}\n`,
  },
} as const satisfies Record<string, ExportFormat>;

interface Page {
  decisions: Decision[];
  next: string | null;
}

/**
 * Yields the text of an export, page by page, with at most `limit` decisions. The caller fetches the first page, so that
 * its failure is known before anything is sent; a later failure ends the stream with the error.
 */
async function* exportText(
  format: ExportFormat,
  first: Page,
  nextPage: (before: string) => Promise<Page>,
  limit: number,
): AsyncGenerator<string, void> {
  yield format.head;
  let left = limit;
  for (let page = first; ; page = await nextPage(page.next)) {
    const lines = page.decisions.slice(0, left).map(format.line);
    left -= lines.length;
    yield lines.join('');
    if (page.next === null || left === 0) return;
  }
}
