import { type Problem, type ProblemCode, Problem as ProblemSchema, problems } from '@callboard/contract';
import type { FastifyBaseLogger, FastifyReply } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { AppError, Rejection } from './errors.ts';

const content = { 'application/problem+json': { schema: ProblemSchema } };
/** The part of a route's response schemas that all routes share. */
export const problemResponses = {
  '4xx': { description: 'Refused; `code` says why', content },
  '5xx': { description: 'Failed; `code` says where', content },
};

const INTERNAL = 'Something went wrong in Callboard itself. Its log has the details.';
/** What the framework's errors look like: bad JSON, a body that is too large, an unknown media type. */
const HttpLike = z.object({ statusCode: z.int().min(400).max(499), message: z.string() });

interface Answer {
  status: number;
  code: ProblemCode;
  detail: string;
}

/** The problem that an error is to the caller. Only messages written for people are shown. */
export function toProblem(error: unknown): Problem {
  const { status, code, detail } = answerFor(error);
  const problem = { type: `urn:callboard:problem:${code}`, title: titleOf(code), status, detail, code };
  return error instanceof Rejection && error.decision !== undefined
    ? { ...problem, decision: error.decision }
    : problem;
}

function answerFor(error: unknown): Answer {
  if (hasZodFastifySchemaValidationErrors(error)) {
    const detail = error.validation.map((issue) => describeIssue(issue, error.validationContext)).join('; ');
    return { status: 400, code: 'bad_request', detail };
  }
  if (error instanceof AppError) {
    const detail = error.code === 'internal' ? INTERNAL : error.message;
    return { status: problems[error.code], code: error.code, detail };
  }
  const http = HttpLike.safeParse(error);
  if (!http.success) return { status: 500, code: 'internal', detail: INTERNAL };
  const code = http.data.statusCode === 404 ? 'not_found' : 'bad_request';
  return { status: http.data.statusCode, code, detail: http.data.message };
}

/** `title: is empty`, or, for the whole body, `body: Unrecognized key: "x"`. */
function describeIssue(issue: { instancePath: string; message?: string | undefined }, context: string | undefined) {
  const path = issue.instancePath.split('/').filter((part) => part !== '');
  const field = path.length > 0 ? path.join('.') : (context ?? 'request');
  return `${field}: ${issue.message ?? 'is not valid'}`;
}

const titleOf = (code: ProblemCode): string => {
  const words = code.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Answers with the problem; what is our own fault goes to the log, whole. */
export function sendProblem(error: unknown, log: FastifyBaseLogger, reply: FastifyReply): FastifyReply {
  const problem = toProblem(error);
  if (problem.status === 500) log.error({ err: error }, 'a request failed');
  if (problem.code === 'orchestrator_unreachable' || problem.code === 'starting') reply.header('retry-after', '1');
  return reply.code(problem.status).type('application/problem+json').send(problem);
}
