import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { json, problemResponses } from './responses.ts';

const Document = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ title: z.string(), version: z.string() }),
});

/** `GET /api/openapi.json`: what the API is, for programs. */
export const documentRoute: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/api/openapi.json',
    {
      schema: {
        operationId: 'get_openapi',
        tags: ['service'],
        summary: 'This document',
        response: { 200: json('The OpenAPI 3.1 document', Document), ...problemResponses({}) },
      },
    },
    async (_request, reply) => reply.type('application/json').send(JSON.stringify(app.swagger())),
  );
};
