import { commands, MessageId, MessagePatch, StageId } from '@callboard/contract';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { problemResponses } from '../http-error.ts';
import type { RelayOptions } from './ask.ts';

const ofStage = z.object({ stageId: StageId });
const ofMessage = z.object({ stageId: StageId, messageId: MessageId });

/** The messages of a stage that wait for their moment. */
export const queueRoutes: FastifyPluginAsyncZod<RelayOptions> = async (app, { ask }) => {
  app.get(
    '/:stageId/queue',
    { schema: { params: ofStage, response: { 200: commands.get_queue.reply, ...problemResponses } } },
    (request) => ask(request, 'get_queue', request.params),
  );

  app.patch(
    '/:stageId/queue/:messageId',
    {
      schema: {
        params: ofMessage,
        body: MessagePatch,
        response: { 200: commands.edit_queued.reply, ...problemResponses },
      },
    },
    (request) => ask(request, 'edit_queued', { ...request.body, ...request.params }),
  );

  app.delete(
    '/:stageId/queue/:messageId',
    {
      schema: {
        summary: 'Answers with what was removed',
        params: ofMessage,
        response: { 200: commands.remove_queued.reply, ...problemResponses },
      },
    },
    (request) => ask(request, 'remove_queued', request.params),
  );
};
