import {
  BoardEvent,
  Decision,
  FileDiff,
  PendingRequest,
  PermissionRule,
  Phase,
  Problem,
  type ProblemCode,
  Project,
  problems,
  QueuedMessage,
  SessionSummary,
  SessionView,
  Stage,
  StageView,
  TranscriptEntry,
} from '@callboard/contract';
import { z } from 'zod';

/** The codes of every route behind the login. */
const COMMON: readonly ProblemCode[] = [
  'not_logged_in',
  'page_not_proven',
  'wrong_origin',
  'too_many_requests',
  'internal',
];
/** Further codes of every relayed command. */
const RELAYED: readonly ProblemCode[] = [
  'bad_request',
  'session_process',
  'caller_unknown',
  'storage_failed',
  'no_confirmation',
  'orchestrator_unreachable',
];
const WITH_BODY: readonly ProblemCode[] = ['body_too_large', 'unsupported_media_type'];

const content = { 'application/problem+json': { schema: Problem } };

export interface RouteProblems {
  /** The codes of this route alone. */
  own?: readonly ProblemCode[] | undefined;
  isRelayed?: boolean;
  hasBody?: boolean;
}

/** Returns the error responses of a route, one for each status; the description lists the codes. */
export function problemResponses({ own = [], isRelayed = false, hasBody = false }: RouteProblems) {
  return problemsAs([...own, ...COMMON, ...(isRelayed ? RELAYED : []), ...(hasBody ? WITH_BODY : [])]);
}

/** Returns the error responses for exactly these codes. */
export function problemsAs(codes: readonly ProblemCode[]) {
  const byStatus = Object.groupBy(new Set(codes), (code) => problems[code].status);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, list = []]) => [
      status,
      { description: list.map(asText).join('\n'), content },
    ]),
  );
}

const asText = (code: ProblemCode): string => `- \`${code}\`: ${problems[code].meaning}`;

/** Returns a response with a JSON body, or with one of the other media types on request. */
export const json = (description: string, schema: z.ZodType, others: Record<string, { schema: z.ZodType }> = {}) => ({
  description,
  content: { 'application/json': { schema }, ...others },
});

/** Returns a response without a body. */
export function noContent(description: string): z.ZodNull {
  const schema = z.null();
  schemaNotes.add(schema, { description });
  return schema;
}

/** Notes of the OpenAPI document on a schema. A schema with an `id` is listed once, under that name. */
interface SchemaNotes {
  id?: string;
  description?: string;
  examples?: readonly unknown[];
  [keyword: string]: unknown;
}

export const schemaNotes = z.registry<SchemaNotes>();

const named = {
  BoardEvent,
  Decision,
  FileDiff,
  PendingRequest,
  PermissionRule,
  Phase,
  Problem,
  Project,
  QueuedMessage,
  SessionSummary,
  SessionView,
  Stage,
  StageView,
  TranscriptEntry,
};
for (const [id, schema] of Object.entries(named)) schemaNotes.add(schema, { id });

/** Returns a copy of the schema with an example for the document. */
export function withExample<S extends z.ZodType>(schema: S, example: unknown): S {
  const copy = schema.clone();
  schemaNotes.add(copy, { examples: [example] });
  return copy;
}
