import { PAGE_HEADER } from '@callboard/contract';
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
  type FastifyPluginAsyncZod,
} from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Ask } from '../routes/relay.ts';
import { json, problemResponses, schemaNotes } from './responses.ts';

const DESCRIPTION = `Everything that the board can do. JSON in and out; an error is \`application/problem+json\` with a stable \`code\`.
The reply to a command comes after the orchestrator's, so that its status says what really happened. A 503 says what is
known about the effect.`;

const tags = [
  { name: 'board', description: 'The board as a whole' },
  { name: 'projects', description: 'Repositories, their settings and their rules' },
  { name: 'stages', description: 'Units of work: the cards on the board' },
  { name: 'review', description: 'Comments on the changes of a stage, and what was viewed of them' },
  { name: 'sessions', description: 'The conversation of a stage' },
  { name: 'queue', description: 'Queued messages' },
  { name: 'requests', description: 'Pending requests and decisions' },
  { name: 'events', description: 'Server-sent events' },
  { name: 'rules', description: 'What Claude may do without asking' },
  { name: 'trash', description: 'Files kept from deleted stages' },
  { name: 'workspace', description: 'What projects run in the worktrees of their stages' },
  { name: 'webhooks', description: 'Calls to the outside when somebody is needed' },
  { name: 'service', description: 'Health, login and this document' },
];

export interface DocumentOptions {
  version: string;
  /** Available once the server listens. */
  cookieName: () => string;
}

/** Returns the options that turn the routes into the OpenAPI document, which is built at the first request for it. */
export function openApi({ version, cookieName }: DocumentOptions): FastifyDynamicSwaggerOptions {
  const toJsonSchema = createJsonSchemaTransform({ schemaRegistry: schemaNotes });
  const addSchemas = createJsonSchemaTransformObject({ schemaRegistry: schemaNotes });
  return {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Callboard', version, description: DESCRIPTION },
      tags,
      components: {
        securitySchemes: {
          cookie: {
            type: 'apiKey',
            in: 'cookie',
            name: 'callboard_session',
            description: 'Set when a browser logs in. Not valid without `page`',
          },
          page: {
            type: 'apiKey',
            in: 'header',
            name: PAGE_HEADER,
            description: 'The token that `POST /api/login/proof` returned to the page',
          },
          bearer: { type: 'http', scheme: 'bearer', description: 'An API token' },
        },
      },
      security: [{ cookie: [], page: [] }, { bearer: [] }],
    },
    transform(parts) {
      const route = toJsonSchema(parts);
      keepExample(parts.schema.body, route.schema.body);
      return route;
    },
    transformObject(parts) {
      const document = addSchemas(parts);
      const schemes = 'components' in document ? document.components?.securitySchemes : undefined;
      if (schemes?.cookie !== undefined) Object.assign(schemes.cookie, { name: cookieName() });
      return document;
    },
  };
}

/** Restores the examples of a body: zod omits them if one of its fields has a transform. */
function keepExample(body: unknown, json: unknown): void {
  const examples = body instanceof z.ZodType ? schemaNotes.get(body)?.examples : undefined;
  if (examples !== undefined && typeof json === 'object' && json !== null) Object.assign(json, { examples });
}

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
