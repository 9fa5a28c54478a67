import { AnswerBody, ApproveBody, commands, MessageBody, PermissionMode, StageId } from '@callboard/contract';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { problemResponses } from '../http-error.ts';
import type { RelayOptions } from './ask.ts';
import { wholeNumber } from './query.ts';

const params = z.object({ stageId: StageId });
const answers = <S extends z.ZodType>(schema: S) => ({ response: { 200: schema, ...problemResponses } });
const TranscriptQuery = z.strictObject({
  after: wholeNumber(0).optional(),
  before: wholeNumber(1).optional(),
  limit: wholeNumber(1, 1000).optional(),
});
const ModeBody = z.strictObject({ mode: PermissionMode });
const MESSAGE_BODY_LIMIT = 25 * 1024 * 1024;

/** The conversation of a stage: reading it, writing to it, and answering what it asks. */
export const sessionRoutes: FastifyPluginAsyncZod<RelayOptions> = async (app, { ask }) => {
  app.get('/:stageId', { schema: { params, ...answers(commands.get_session.reply) } }, (request) =>
    ask(request, 'get_session', request.params),
  );

  app.get(
    '/:stageId/transcript',
    {
      schema: {
        summary: 'Entries in ascending order; without `after` and `before` the newest',
        params,
        querystring: TranscriptQuery,
        ...answers(commands.get_transcript.reply),
      },
    },
    (request) => ask(request, 'get_transcript', { ...request.query, ...request.params }),
  );

  app.get('/:stageId/pending', { schema: { params, ...answers(commands.get_pending.reply) } }, (request) =>
    ask(request, 'get_pending', request.params),
  );

  app.post(
    '/:stageId/message',
    { bodyLimit: MESSAGE_BODY_LIMIT, schema: { params, body: MessageBody, ...answers(commands.send_message.reply) } },
    (request) => ask(request, 'send_message', { ...request.body, ...request.params }),
  );

  app.post(
    '/:stageId/approve',
    {
      schema: {
        summary: 'Allows or denies; the first answer wins',
        params,
        body: ApproveBody,
        ...answers(commands.approve_tool.reply),
      },
    },
    (request) => ask(request, 'approve_tool', { ...request.body, ...request.params }),
  );

  app.post(
    '/:stageId/answer',
    {
      schema: {
        summary: "Answers a question; the keys are exactly the request's questions",
        params,
        body: AnswerBody,
        ...answers(commands.answer_question.reply),
      },
    },
    (request) => ask(request, 'answer_question', { ...request.body, ...request.params }),
  );

  app.post('/:stageId/interrupt', { schema: { params, ...answers(commands.interrupt.reply) } }, (request) =>
    ask(request, 'interrupt', request.params),
  );

  app.post('/:stageId/mode', { schema: { params, body: ModeBody, ...answers(commands.set_mode.reply) } }, (request) =>
    ask(request, 'set_mode', { ...request.body, ...request.params }),
  );
};
