import { commands, NewStage, StageId, StagePatch } from '@callboard/contract';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { problemResponses } from '../http-error.ts';
import type { RelayOptions } from './ask.ts';

const params = z.object({ stageId: StageId });
const OneStage = commands.get_stage.reply;
const one = { response: { 200: OneStage, ...problemResponses } };
const accepted = { response: { 202: OneStage, ...problemResponses } };
/** Only an explicit "no" is understood so far; anything else is refused rather than ignored. */
const CompleteBody = z.strictObject({ merge: z.literal(false, 'merging is not possible yet').optional() }).nullish();

/** Stages, and the commands that move them. */
export const stageRoutes: FastifyPluginAsyncZod<RelayOptions> = async (app, { ask }) => {
  app.post(
    '/',
    { schema: { body: NewStage, response: { 201: OneStage, ...problemResponses } } },
    async (request, reply) => reply.code(201).send(await ask(request, 'create_stage', request.body)),
  );

  app.get('/:stageId', { schema: { params, ...one } }, (request) => ask(request, 'get_stage', request.params));

  app.patch('/:stageId', { schema: { params, body: StagePatch, ...one } }, (request) =>
    ask(request, 'update_stage', { ...request.params, patch: request.body }),
  );

  app.delete('/:stageId', { schema: { summary: 'Answers with what was removed', params, ...one } }, async (request) => {
    const removed = await ask(request, 'get_stage', request.params);
    await ask(request, 'remove_stage', request.params);
    return removed;
  });

  app.post(
    '/:stageId/start',
    { schema: { summary: 'Starts the stage at once, limit or not', params, ...accepted } },
    async (request, reply) => reply.code(202).send(await ask(request, 'start_stage', request.params)),
  );

  app.post('/:stageId/stop', { schema: { params, ...accepted } }, async (request, reply) =>
    reply.code(202).send(await ask(request, 'stop_stage', request.params)),
  );

  app.post('/:stageId/complete', { schema: { params, body: CompleteBody, ...accepted } }, async (request, reply) =>
    reply.code(202).send(await ask(request, 'complete_stage', request.params)),
  );
};
