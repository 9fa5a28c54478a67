import { commandDocs, commands, ProblemCode } from '@callboard/contract';
import { type RoutedCommand, routes, toRequest } from '@callboard/contract/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer, type Harness, startHarness } from './harness.ts';

const docs = commandDocs();

const Media = z.looseObject({
  schema: z.looseObject({ examples: z.array(z.unknown()).optional() }),
  example: z.unknown().optional(),
});
const Operation = z.looseObject({
  operationId: z.string(),
  tags: z.array(z.string()),
  summary: z.string().min(5),
  parameters: z.array(z.looseObject({ name: z.string(), in: z.string() })).optional(),
  requestBody: z.looseObject({ content: z.record(z.string(), Media) }).optional(),
  responses: z.record(
    z.string(),
    z.looseObject({ description: z.string(), content: z.record(z.string(), Media).optional() }),
  ),
});
type Operation = z.infer<typeof Operation>;
const Document = z.looseObject({
  openapi: z.literal('3.1.0'),
  tags: z.array(z.looseObject({ name: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({
    schemas: z.record(z.string(), z.unknown()),
    securitySchemes: z.record(z.string(), z.looseObject({ type: z.string() })),
  }),
});

let harness: Harness;
let document: z.infer<typeof Document>;
beforeAll(async () => {
  harness = await startHarness();
  document = Document.parse((await harness.app.inject({ url: '/api/openapi.json', headers: bearer })).json());
});
afterAll(() => harness.stop());

const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
const operationOf = (type: RoutedCommand | 'get_health'): Operation => {
  const found = operations().find(([, { operationId }]) => operationId === type);
  if (found === undefined) throw new Error(`${type} is not in the document`);
  return found[1];
};

/** Every route of the application, read from the tree that the framework prints. */
function appRoutes(): string[] {
  const above: string[] = [];
  return harness.app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods] = /^(.*?)[├└]── (\S*)(?: \((.+)\))?$/.exec(line) ?? [];
      above.length = indent.length / 4;
      above.push(part);
      const path = above.join('').replaceAll(/:(\w+)/g, '{$1}');
      return (methods?.split(', ') ?? []).map((method) => `${method} ${path}`);
    });
}

it('has every route of the API, with a summary, a tag, and a shape for its success and its errors', () => {
  const expected = appRoutes().filter((route) => / \/(api\/|login$)/.test(route));
  expect(expected.length).toBeGreaterThan(Object.keys(routes).length);
  expect(
    operations()
      .map(([route]) => route)
      .sort(),
  ).toEqual(expected.sort());
  const tags = document.tags.map(({ name }) => name);
  for (const [route, { tags: own, responses }] of operations()) {
    expect([route, tags]).toEqual([route, expect.arrayContaining(own)]);
    const successes = Object.entries(responses).filter(([status]) => status < '400');
    expect([route, successes.length]).not.toEqual([route, 0]);
    for (const [status, { content }] of successes) {
      if (status !== '204' && status !== '303')
        expect([route, status, content]).toEqual([route, status, expect.anything()]);
    }
  }
});

it('answers no route of the API without a login, except health and the login itself', async () => {
  for (const route of appRoutes()) {
    const [method = '', path = ''] = route.split(' ');
    if (!path.startsWith('/api/') || path === '/api/health' || /^\/api\/login(\/|$)/.test(path)) continue;
    const url = path.replaceAll(/\{\w+\}/g, 'x');
    const { statusCode } = await harness.app.inject({ method: method as 'GET', url }); // the framework prints it in this form
    expect([route, statusCode]).toEqual([route, 401]);
  }
});

it('asks for no field of a path in the query as well', () => {
  for (const [route, { parameters = [] }] of operations()) {
    const names = parameters.map(({ name }) => name);
    expect([route, names]).toEqual([route, [...new Set(names)]]);
  }
});

it('lists the codes of its problems, each under its status', () => {
  for (const [route, { responses }] of operations()) {
    for (const [status, { description, content }] of Object.entries(responses)) {
      if (status < '400' || content?.['application/problem+json'] === undefined) continue;
      const codes = [...description.matchAll(/`(\w+)`:/g)].map(([, code]) => ProblemCode.parse(code));
      expect([route, status, codes.length]).not.toEqual([route, status, 0]);
    }
  }
});

it.each([
  ['approve_tool', 409, 'already_decided'],
  ['send_message', 409, 'message_id_reused'],
  ['start_stage', 409, 'waits_for_dependency'],
  ['start_stage', 507, 'disk_low'],
  ['get_health', 403, 'wrong_origin'],
] as const)('lists that %s may be answered with %i %s', (operationId, status, code) => {
  expect(operationOf(operationId).responses[status]?.description).toContain(`\`${code}\``);
});

it.each(Object.keys(docs) as RoutedCommand[])('has examples of %s that match its own schemas', (type) => {
  const { input, reply } = docs[type].example;
  expect(commands[type].input.parse(input)).toEqual(input);
  expect(commands[type].reply.parse(reply)).toEqual(reply);
  const { requestBody, responses } = operationOf(type);
  const success = Object.entries(responses).find(([status]) => status < '300')?.[1];
  expect(success?.content?.['application/json']?.schema.examples).toEqual([reply]);
  const { body } = toRequest(routes[type], input);
  const hasBody = requestBody !== undefined;
  expect(requestBody?.content['application/json']?.example).toEqual(hasBody ? body : undefined);
  expect(hasBody).toBe(JSON.stringify(body ?? {}) !== '{}');
});

it('names the shapes that occur in many places, and refers only to shapes that it contains', () => {
  const names = Object.keys(document.components.schemas);
  expect(names).toEqual(expect.arrayContaining(['Problem', 'Project', 'StageView', 'SessionView', 'PendingRequest']));
  const referred = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  expect(referred.length).toBeGreaterThan(50);
  expect(names).toEqual(expect.arrayContaining([...new Set(referred)]));
});

it('says how to log in, with the actual name of the cookie', () => {
  expect(document.components.securitySchemes).toMatchObject({
    cookie: { type: 'apiKey', in: 'cookie', name: 'callboard_session_80' },
    page: { type: 'apiKey', in: 'header', name: 'x-callboard-page' },
    bearer: { type: 'http', scheme: 'bearer' },
  });
});
