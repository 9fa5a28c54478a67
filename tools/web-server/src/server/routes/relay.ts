import type { IncomingMessage } from 'node:http';
import {
  type CommandDefinition,
  type CommandDocs,
  type CommandInput,
  type CommandReply,
  type CommandType,
  commandDocs,
  commands,
  DelayedReply,
  hostLocation,
  IDEMPOTENCY_AGE_HEADER,
  IDEMPOTENCY_KEY_HEADER,
  Idempotency,
} from '@callboard/contract';
import { pathFields, type RoutedCommand, routes, toRequest } from '@callboard/contract/client';
import type { RouteOptions } from 'fastify';
import { z } from 'zod';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Visits } from '../auth/visits.ts';
import { Rejection } from '../errors.ts';
import { json, problemResponses, withExample } from '../openapi/responses.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';

/** Relays a command to the orchestrator with the credential of the request, which the orchestrator checks. */
export type Ask = <T extends CommandType>(
  request: { raw: IncomingMessage },
  type: T,
  input: CommandInput<T>,
) => Promise<CommandReply<T>>;

export const createAsk =
  ({
    client,
    authenticator,
    visits,
  }: {
    client: OrchestratorClient;
    authenticator: Authenticator;
    visits: Visits;
  }): Ask =>
  (request, type, input) =>
    client.send(type, input, {
      credential: authenticator.loginOf(request).credential,
      peer: visits.of(request.raw).peer,
      idempotency: idempotencyOf(request.raw),
    });

/** @throws Rejection `bad_request` for a key that is no UUID, and for an age that is no number */
function idempotencyOf({ headers }: IncomingMessage): Idempotency | undefined {
  const { [IDEMPOTENCY_KEY_HEADER]: key, [IDEMPOTENCY_AGE_HEADER]: age } = headers;
  if (key === undefined) return undefined;
  const given = Idempotency.safeParse({ key, unknownForMs: age === undefined ? null : Number(age) });
  if (given.success) return given.data;
  throw new Rejection('bad_request', 'Idempotency-Key must be a UUID, and Idempotency-Age a number of milliseconds.');
}

/** What a route does otherwise than the command's definition says. */
interface OwnRoute {
  /** Parses the query, whose values are text. */
  query?: z.ZodType;
  /** The media types of files that it can also return. */
  files?: readonly string[];
}

const docs = commandDocs();

/** Returns the route that relays a command in the name of the caller and responds with its reply. Address and schemas come from the contract. */
export function relayRoute(type: RoutedCommand, ask: Ask, own: OwnRoute = {}): RouteOptions {
  const { method, path, body: bodyField } = routes[type];
  const definition: CommandDefinition = commands[type];
  const { status = 200, query = own.query, bodyLimit, isLocal = false } = definition;
  const { tag, summary, description, problems, example }: CommandDocs<CommandDefinition> = docs[type];
  const files = Object.fromEntries((own.files ?? []).map((type) => [type, { schema: z.string() }]));
  const { params, body } = requestSchemas(type, example.input as object);
  const reply = withExample(definition.reply, example.reply);
  return {
    method,
    url: path,
    ...(bodyLimit && { bodyLimit }),
    schema: {
      operationId: type,
      tags: [tag],
      summary,
      ...(description && { description }),
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
      response: {
        ...successes(status, reply, files),
        ...problemResponses({ own: problems, isRelayed: true, hasBody: body !== null }),
      },
    },
    async handler(request, answer) {
      if (isLocal) requireLocal(request.raw);
      const { params: inPath, query: inQuery, body: given } = request;
      const fields = [query && inQuery, body && (bodyField === undefined ? given : { [bodyField]: given }), inPath];
      // Each part was checked with the matching part of the command's schema.
      const input = Object.assign({}, ...fields) as CommandInput<typeof type>;
      const data = await ask(request, type, input);
      return answer.code(statusOf(status, data)).send(data);
    },
  };
}

/** What proxies add to a request, each some of it. */
const OF_A_PROXY = /^(?:x-forwarded-.*|forwarded|via|x-real-ip|x-client-ip)$/;

/**
 * Whoever cannot be told to be on this machine is not: a proxy on it may say nothing of the client's address.
 * @throws Rejection `not_this_machine`. A tunnel to this machine cannot be told from a browser on it.
 */
function requireLocal({ socket, headers }: IncomingMessage): void {
  const isOfProxy = Object.keys(headers).some((name) => OF_A_PROXY.test(name));
  const names = [`http://${headers.host ?? ''}`, headers.origin ?? `http://${headers.host ?? ''}`];
  const isNamedSo = names.every(
    (name) => URL.canParse(name) && hostLocation(new URL(name).hostname) === 'this-machine',
  );
  if (!isOfProxy && isNamedSo && hostLocation(socket.remoteAddress ?? '') === 'this-machine') return;
  const message = 'Your browser is on another machine, so no editor can be opened there. Copy the path instead.';
  throw new Rejection('not_this_machine', message);
}

type Status = NonNullable<CommandDefinition['status']> | 200;

function statusOf(status: Status, reply: object): 200 | 201 | 202 {
  if (status === 'created') return 'created' in reply && reply.created === true ? 201 : 200;
  if (status === 'held') return 'heldUntil' in reply ? 202 : 200;
  return status;
}

/** The responses of a route that succeeded, by status. */
function successes(status: Status, reply: z.ZodType, files: Parameters<typeof json>[2]) {
  switch (status) {
    case 'created':
      return { 200: json('It existed already', reply), 201: json('Created', reply) };
    case 'held':
      return { 200: json('Done', reply), 202: json('Held back: it is sent at `heldUntil`', delayedReply) };
    default:
      return { [status]: json(status === 202 ? 'Accepted and in progress' : 'Done', reply, files) };
  }
}

const delayedReply = withExample(DelayedReply, { heldUntil: '2026-01-02T03:04:07.000Z' });

/** Splits the command's schema into the route's path parameters and body. */
function requestSchemas(type: RoutedCommand, example: object) {
  const route = routes[type];
  const { isBodyOptional = false, input }: CommandDefinition = commands[type];
  const inPath = pathFields(route);
  const fields: [string, z.ZodType][] = Object.entries(input.shape);
  const named = fields.filter(([name]) => inPath.includes(name));
  const others = fields.filter(([name]) => !inPath.includes(name));
  const params = named.length === 0 ? null : z.object(Object.fromEntries(named));
  if (route.method === 'GET' || others.length === 0) return { params, body: null };
  const whole = others.find(([name]) => name === route.body)?.[1] ?? z.strictObject(Object.fromEntries(others));
  const body = isBodyOptional ? whole.nullish() : whole;
  return { params, body: withExample(body, toRequest(route, example).body) };
}
