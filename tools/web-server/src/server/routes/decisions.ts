import { Readable } from 'node:stream';
import { DecisionFilter } from '@callboard/contract';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { z } from 'zod';
import { Rejection } from '../errors.ts';
import type { Ask } from './ask.ts';
import { exportFormats, exportText } from './decision-export.ts';
import { wholeNumber } from './query.ts';
import { type RelayNotes, relayRoute } from './relay.ts';

/** Of a page; an export takes as many pages as it needs. */
const MAX_PAGE = 1_000;

const Query = DecisionFilter.extend({
  limit: wholeNumber(1).optional(),
  format: z.enum(['json', 'csv', 'jsonl']).optional(),
});

const notes: RelayNotes = {
  query: Query,
  files: ['text/csv', 'application/jsonl'],
  summary: 'The decision log, newest first',
  description:
    'In pages of at most 1000: give `next` as `before` to get the following one; it is null at the end. With `format=csv` (or `Accept: text/csv`) or `format=jsonl` all of it, or the newest `limit`, as a file; one that ends with its connection is not whole.',
};

/** `GET /api/decisions`: the decision log, as a page of JSON or as a file. */
export function decisionsRoute(ask: Ask): RouteOptions {
  async function handler(request: FastifyRequest, reply: FastifyReply) {
    // It was checked and converted by the schema of the route.
    const { format = formatOf(request), ...filter } = request.query as z.infer<typeof Query>;
    if (format === 'json') {
      if (filter.limit === undefined || filter.limit <= MAX_PAGE) return ask(request, 'get_decisions', filter);
      throw new Rejection('bad_request', `limit: must be at most ${MAX_PAGE}; a file may have more.`);
    }
    const { limit = Number.POSITIVE_INFINITY } = filter;
    const page = (before = filter.before) =>
      ask(request, 'get_decisions', { ...filter, before, limit: Math.min(limit, MAX_PAGE) });
    const { contentType, extension } = exportFormats[format];
    const text = exportText(exportFormats[format], await page(), page, limit);
    reply.header('content-disposition', `attachment; filename="decisions.${extension}"`);
    return reply.type(contentType).send(Readable.from(text));
  }
  return { ...relayRoute('get_decisions', 'requests', notes, ask), handler };
}

function formatOf({ headers: { accept = '' } }: FastifyRequest) {
  if (accept.includes('text/csv')) return 'csv';
  return accept.includes('application/jsonl') ? 'jsonl' : 'json';
}
