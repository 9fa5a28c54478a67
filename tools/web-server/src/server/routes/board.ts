import { commands, StageId } from '@callboard/contract';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { problemResponses } from '../http-error.ts';
import type { RelayOptions } from './ask.ts';
import { wholeNumber } from './query.ts';

const { get_board, get_pending, get_decisions } = commands;

const DecisionsQuery = z.strictObject({ stageId: StageId.optional(), limit: wholeNumber(1, 1000).optional() });

/** What is asked across all stages: the board, what waits for an answer, and what was decided. */
export const boardRoutes: FastifyPluginAsyncZod<RelayOptions> = async (app, { ask }) => {
  app.get(
    '/board',
    { schema: { summary: 'All that the board shows', response: { 200: get_board.reply, ...problemResponses } } },
    (request) => ask(request, 'get_board', {}),
  );
  app.get(
    '/pending',
    { schema: { summary: 'What waits for an answer', response: { 200: get_pending.reply, ...problemResponses } } },
    (request) => ask(request, 'get_pending', {}),
  );
  app.get(
    '/decisions',
    {
      schema: {
        summary: 'The decision log, newest first',
        querystring: DecisionsQuery,
        response: { 200: get_decisions.reply, ...problemResponses },
      },
    },
    (request) => ask(request, 'get_decisions', request.query),
  );
};
