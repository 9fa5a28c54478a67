import { type Problem, type ProblemCode, problems } from '@callboard/contract';
import type { FastifyBaseLogger, FastifyReply } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { AppError, Rejection } from './errors.ts';
import { problemMeanings } from './openapi/problem-meanings.ts';

const INTERNAL = 'Something went wrong in Callboard itself. Its log has the details.';
/** What the framework's errors look like: bad JSON, a body that is too large, an unknown media type. */
const HttpLike = z.object({ statusCode: z.int().min(400).max(499), message: z.string() });
/** Those that have a code of their own; the others are a `bad_request`. */
const HTTP_CODES: Readonly<Record<number, ProblemCode>> = {
  404: 'not_found',
  413: 'body_too_large',
  415: 'unsupported_media_type',
};

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
  const code = HTTP_CODES[http.data.statusCode] ?? 'bad_request';
  return { status: problems[code], code, detail: code === 'bad_request' ? http.data.message : problemMeanings[code] };
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

const PASSING: ReadonlySet<ProblemCode> = new Set(['orchestrator_unreachable', 'starting', 'too_many_requests']);

/** Answers with the problem; what is our own fault goes to the log, whole. */
export function sendProblem(error: unknown, log: FastifyBaseLogger, reply: FastifyReply): FastifyReply {
  const problem = toProblem(error);
  if (problem.status === 500) log.error({ err: error }, 'a request failed');
  if (PASSING.has(problem.code) && !reply.hasHeader('retry-after')) reply.header('retry-after', '1');
  return reply.code(problem.status).type('application/problem+json').send(problem);
}
