import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Ask } from '../routes/ask.ts';
import { json, problemResponses } from './responses.ts';

const Document = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ title: z.string(), version: z.string() }),
});

/** `GET /api/openapi.json`: the machine-readable description of the API. */
export const documentRoute: FastifyPluginAsyncZod<{ ask: Ask }> = async (app, { ask }) => {
  app.get(
    '/api/openapi.json',
    {
      schema: {
        operationId: 'get_openapi',
        tags: ['service'],
        summary: 'Get this document',
        response: { 200: json('The OpenAPI 3.1 document', Document), ...problemResponses({ isRelayed: true }) },
      },
    },
    async (request, reply) => {
      await ask(request, 'auth_check', {});
      return reply.type('application/json').send(JSON.stringify(app.swagger()));
    },
  );
};
