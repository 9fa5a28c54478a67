import { PAGE_HEADER } from '@callboard/contract';
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { schemaNotes } from './schemas.ts';

const DESCRIPTION = `Everything that the board can do. JSON in and out; an error is \`application/problem+json\` with a stable \`code\`.
A command is answered when the orchestrator has answered it, so that a status tells what really happened. A 503 comes with
what is known about what was done.`;

const tags = [
  { name: 'board', description: 'All that the board shows' },
  { name: 'projects', description: 'Repositories, their settings and their rules' },
  { name: 'stages', description: 'Units of work: the cards' },
  { name: 'sessions', description: 'The conversation of a stage' },
  { name: 'queue', description: 'Messages that wait for their moment' },
  { name: 'requests', description: 'What Claude waits for, and what was decided' },
  { name: 'events', description: 'What happens, as server-sent events' },
  { name: 'trash', description: 'What was kept when a stage was deleted' },
  { name: 'service', description: 'Health, login and this document' },
];

export interface DocumentParts {
  version: string;
  /** Known once the server listens. */
  cookieName: () => string;
}

/** How the routes become the OpenAPI document. It is made when it is first asked for. */
export function openApi({ version, cookieName }: DocumentParts): FastifyDynamicSwaggerOptions {
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
            description: 'Set at the login of a browser. No login without `page`',
          },
          page: {
            type: 'apiKey',
            in: 'header',
            name: PAGE_HEADER,
            description: 'What `POST /api/login/proof` gave to the page',
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

/** zod leaves the examples of a body out where one of its fields is read in a way of its own. */
function keepExample(body: unknown, json: unknown): void {
  const examples = body instanceof z.ZodType ? schemaNotes.get(body)?.examples : undefined;
  if (examples !== undefined && typeof json === 'object' && json !== null) Object.assign(json, { examples });
}
