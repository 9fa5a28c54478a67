import { Problem, type ProblemCode, problems } from '@callboard/contract';
import { z } from 'zod';
import { problemMeanings } from './problem-meanings.ts';
import { schemaNotes } from './schemas.ts';

/** What every route behind the login may answer. */
const COMMON: readonly ProblemCode[] = [
  'not_logged_in',
  'page_not_proven',
  'wrong_origin',
  'too_many_requests',
  'internal',
];
/** What every relayed command may answer besides. */
const RELAYED: readonly ProblemCode[] = [
  'bad_request',
  'storage_failed',
  'no_confirmation',
  'orchestrator_unreachable',
];
const WITH_BODY: readonly ProblemCode[] = ['body_too_large', 'unsupported_media_type'];

const content = { 'application/problem+json': { schema: Problem } };

export interface RouteProblems {
  /** The codes of its own. */
  own?: readonly ProblemCode[] | undefined;
  isRelayed?: boolean;
  hasBody?: boolean;
}

/** The error responses of a route: one for each status, whose description lists the codes. */
export function problemResponses({ own = [], isRelayed = false, hasBody = false }: RouteProblems) {
  return problemsAs([...own, ...COMMON, ...(isRelayed ? RELAYED : []), ...(hasBody ? WITH_BODY : [])]);
}

/** The responses of exactly these codes. */
export function problemsAs(codes: readonly ProblemCode[]) {
  const byStatus = Object.groupBy(new Set(codes), (code) => problems[code]);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, list = []]) => [
      status,
      { description: list.map(inWords).join('\n'), content },
    ]),
  );
}

const inWords = (code: ProblemCode): string => `- \`${code}\`: ${problemMeanings[code]}`;

/** A response with a JSON body, or, where it was asked for, one of the other media types. */
export const json = (description: string, schema: z.ZodType, others: Record<string, { schema: z.ZodType }> = {}) => ({
  description,
  content: { 'application/json': { schema }, ...others },
});

/** A response without a body. */
export function noContent(description: string): z.ZodNull {
  const schema = z.null();
  schemaNotes.add(schema, { description });
  return schema;
}
