import { Readable } from 'node:stream';
import { csvLine, type Decision, DecisionFilter, wholeNumber } from '@callboard/contract';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { z } from 'zod';
import { Rejection } from '../errors.ts';
import { type Ask, relayRoute } from './relay.ts';

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
