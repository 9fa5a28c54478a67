import { Readable } from 'node:stream';
import { DecisionFilter, wholeNumber } from '@callboard/contract';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { z } from 'zod';
import { Rejection } from '../errors.ts';
import { exportFormats, exportText } from './decision-export.ts';
import type { Ask } from './relay.ts';
import { relayRoute } from './relay.ts';

/** The limit of one page; an export reads as many pages as it needs. */
const MAX_PAGE = 1_000;

const Query = DecisionFilter.extend({
  limit: wholeNumber(1).optional(),
  format: z.enum(['json', 'csv', 'jsonl']).optional(),
});

/** `GET /api/decisions`: the decision log, as a page of JSON or as a file. */
export function decisionsRoute(ask: Ask): RouteOptions {
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
