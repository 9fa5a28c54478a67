import type { Socket } from 'node:net';
import { type CommandError, type Decision, type Problem, type ProblemCode, problems } from '@callboard/contract';
import type { FastifyBaseLogger, FastifyReply } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { z } from 'zod';

/** An error with a stable code and a message for people. */
export abstract class AppError extends Error {
  abstract readonly kind: 'rejection' | 'protocol' | 'operational';
  readonly code: ProblemCode;

  constructor(code: ProblemCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A rule forbids the request. Repeating it does not help. */
export class Rejection extends AppError {
  readonly kind = 'rejection';
  /** With a conflict: the decision that stands. */
  readonly decision: Decision | undefined;

  constructor(code: ProblemCode, message: string, decision?: Decision) {
    super(code, message);
    this.decision = decision;
  }
}

/** Something that Callboard depends on failed. Repeating the request may help. */
export class OperationalError extends AppError {
  readonly kind = 'operational';
}

/** There is no connection to the orchestrator; `reply_lost`: it ended before the reply to a command, which may have been executed. */
export class OrchestratorUnreachable extends OperationalError {
  constructor(message: string, code: 'orchestrator_unreachable' | 'reply_lost' = 'orchestrator_unreachable') {
    super(code, message);
  }
}

/** The other side broke the contract. */
export class ProtocolError extends AppError {
  readonly kind = 'protocol';

  constructor(message: string, options?: ErrorOptions) {
    super('internal', message, options);
  }
}

/** Returns the error for a refused command. */
export function fromCommandError({ code, message, decision }: CommandError): AppError {
  return problems[code].status < 500 ? new Rejection(code, message, decision) : new OperationalError(code, message);
}

const INTERNAL = 'Something went wrong in Callboard itself. Its log has the details.';
/** Errors of the framework: bad JSON, a body that is too large, an unknown media type. */
const HttpLike = z.object({ statusCode: z.int().min(400).max(499), message: z.string() });
/** Statuses with a code of their own; all others are `bad_request`. */
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

/** Returns the problem to show for an error. Only messages written for people are included. */
function toProblem(error: unknown): Problem {
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
    return { status: problems[error.code].status, code: error.code, detail };
  }
  const http = HttpLike.safeParse(error);
  if (!http.success) return { status: 500, code: 'internal', detail: INTERNAL };
  const code = HTTP_CODES[http.data.statusCode] ?? 'bad_request';
  const { status, meaning } = problems[code];
  return { status, code, detail: code === 'bad_request' ? http.data.message : meaning };
}

/** Returns `title: is empty`, or for the whole body `body: Unrecognized key: "x"`. */
function describeIssue(issue: { instancePath: string; message?: string | undefined }, context: string | undefined) {
  const path = issue.instancePath.split('/').filter((part) => part !== '');
  const field = path.length > 0 ? path.join('.') : (context ?? 'request');
  return `${field}: ${issue.message ?? 'is invalid'}`;
}

const titleOf = (code: ProblemCode): string => {
  const text = code.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

const TRANSIENT: ReadonlySet<ProblemCode> = new Set(['orchestrator_unreachable', 'starting', 'too_many_requests']);

/** Sends the problem for an error. Logs the error itself if Callboard is at fault. */
export function sendProblem(error: unknown, log: FastifyBaseLogger, reply: FastifyReply): FastifyReply {
  const problem = toProblem(error);
  if (problem.status === 500) log.error({ err: error }, 'a request failed');
  if (TRANSIENT.has(problem.code) && !reply.hasHeader('retry-after')) reply.header('retry-after', '1');
  return reply.code(problem.status).type('application/problem+json').send(problem);
}

const UNREADABLE: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers of the request are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

/**
 * Answers a malformed HTTP request and closes its connection. Nothing is logged: the error holds the received bytes, which
 * may contain a secret. A connection that has sent nothing is closed without a word: Chromium opens some ahead, and takes what comes
 * for the answer to the request that it is about to send; one that is closed, it replaces.
 */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || socket.bytesRead === 0 || error.code === 'ECONNRESET') return void socket.destroy();
  const text = UNREADABLE[error.code ?? ''] ?? 'This is not a valid HTTP request.';
  const body = JSON.stringify(toProblem(new Rejection('bad_request', text)));
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
