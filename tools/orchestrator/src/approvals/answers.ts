import {
  type AnswerBody,
  type ApproveBody,
  answersProblem,
  hostRule,
  type PendingRequest,
  questionsOf,
} from '@callboard/contract';
import { formContentProblem } from '../agent/form-content.ts';
import { permissionUpdatesProblem } from '../agent/permission-updates.ts';
import { toolInputProblem } from '../agent/tool-input.ts';
import { forSession, type Kept, keepable } from '../domain/permission-rules.ts';
import type { Verdict } from '../domain/requests.ts';
import { Rejection } from '../lib/errors.ts';

/** What is recorded of an answer, and what goes to the CLI for it (shapes as seen with 2.1.330). */
export interface Answer {
  verdict: Omit<Verdict, 'by' | 'delivery'>;
  response: Record<string, unknown>;
}

const DENIED = 'The user said no to this and gave no reason.';
const NOBODY =
  'Nobody answered within the time limit. This is not a decision of the user: go on without it, or ask again later.';
const DECLINED = 'The user declined to answer';

/** @throws Rejection `wrong_kind` for a question, `bad_request` for what would not run, or not count */
export function allow(request: PendingRequest, body: ApproveBody): Answer {
  if (request.kind !== 'question') requireThatAllCounts(request, body);
  switch (request.kind) {
    case 'question':
      throw new Rejection(
        'wrong_kind',
        'This is a question: allowing it without answers would tell Claude that nobody answered. Send the answers instead.',
      );
    case 'elicitation':
      return acceptForm(request, body);
    case 'approval':
      return allowTool(request, body);
    case 'network':
      return allowHost(request, body);
    case 'plan':
      return allowed(body, withMode(body.updatedPermissions ?? []));
    default:
      return request.kind satisfies never;
  }
}

/** What the CLI would pass over without a word, so that a person would think to have granted it, or to have ended the turn. */
function requireThatAllCounts({ suggestions }: PendingRequest, { interrupt, updatedPermissions = [] }: ApproveBody) {
  if (interrupt === true) {
    const words = 'interrupt ends the turn, and goes with deny only: what is allowed here could not run. Leave it out.';
    throw new Rejection('bad_request', words);
  }
  const problem = permissionUpdatesProblem(updatedPermissions, suggestions);
  if (problem !== null) throw new Rejection('bad_request', problem);
}

function allowTool(request: PendingRequest, body: ApproveBody): Answer {
  const problem = body.updatedInput === undefined ? null : toolInputProblem(request.toolName, body.updatedInput);
  if (problem !== null) throw new Rejection('bad_request', problem);
  if (request.leavesSandbox !== null && (body.remember !== undefined || (body.updatedPermissions ?? []).length > 0)) {
    const words =
      'A command that leaves the sandbox is allowed once, and nothing is kept of it. Allow it without rules.';
    throw new Rejection('bad_request', words);
  }
  if (body.remember !== undefined && request.suppressAlwaysAllow) {
    throw new Rejection('bad_request', 'Claude Code does not want this one to be allowed for good. Allow it once.');
  }
  if (body.remember !== undefined && keepable(body.updatedPermissions ?? []).length === 0) {
    throw new Rejection(
      'bad_request',
      'There is no rule to keep: send the suggestion that is to hold in updatedPermissions.',
    );
  }
  return allowed(body, body.updatedPermissions);
}

/**
 * A bare allow opens the host for as long as the process lives. The rule that the CLI suggests is not taken: it would let
 * WebFetch read the host as well.
 */
function allowHost(
  { input }: PendingRequest,
  { updatedInput, updatedPermissions = [], remember }: ApproveBody,
): Answer {
  if (updatedInput !== undefined || updatedPermissions.length > 0) {
    const words =
      'A network request is allowed as it is. Send remember ("stage" or "project") to keep its host, and leave updatedInput and updatedPermissions out.';
    throw new Rejection('bad_request', words);
  }
  if (remember !== undefined && hostRuleOf(input) === null)
    throw new Rejection(
      'bad_request',
      'This host is never kept: it is this machine, or may stand for others too. Allow it without remember.',
    );
  return allowed({}, undefined);
}

const hostRuleOf = ({ host }: PendingRequest['input']): string | null =>
  typeof host === 'string' ? hostRule(host) : null;

/** What is kept beyond the session of an allowance. */
export function kept(request: PendingRequest, { decision, updatedPermissions = [], remember }: ApproveBody): Kept[] {
  if (decision !== 'allow') return [];
  if (request.kind !== 'network') return keepable(updatedPermissions);
  const rule = remember === undefined ? null : hostRuleOf(request.input);
  return rule === null ? [] : [{ kind: 'host', rule }];
}

function allowed(
  { updatedInput }: Pick<ApproveBody, 'updatedInput'>,
  updates: ApproveBody['updatedPermissions'],
): Answer {
  const updatedPermissions = updates === undefined ? undefined : forSession(updates);
  return {
    verdict: { outcome: 'allowed', reason: null, answers: null, updatedInput: updatedInput ?? null },
    // A bare allow runs the original input; `updatedInput` is sent only if a person changed it.
    response: { behavior: 'allow', ...defined({ updatedInput, updatedPermissions }) },
  };
}

/** Accepting a plan always names the mode that follows. */
function withMode(
  updates: NonNullable<ApproveBody['updatedPermissions']>,
): NonNullable<ApproveBody['updatedPermissions']> {
  const modes = updates.filter((update) => update.type === 'setMode');
  if (modes.some(({ mode }) => mode === 'plan')) {
    const words = 'Accepting a plan ends plan mode. Choose another mode, or send the plan back to go on planning.';
    throw new Rejection('bad_request', words);
  }
  if (modes.length > 0) return updates;
  return [...updates, { type: 'setMode', mode: 'default', destination: 'session' }];
}

function acceptForm(request: PendingRequest, { updatedInput = {} }: ApproveBody): Answer {
  const problem = formContentProblem(request.input.requested_schema, updatedInput);
  if (problem !== null) throw new Rejection('bad_request', problem);
  return {
    verdict: { outcome: 'answered', reason: null, answers: null, updatedInput },
    response: { action: 'accept', content: updatedInput },
  };
}

/** The reason is read by the model word for word, except where the turn is ended with it. */
export function deny(request: PendingRequest, body: Pick<ApproveBody, 'reason' | 'interrupt'>): Answer {
  const reason = body.reason?.trim() ? body.reason : null;
  const message = request.kind === 'question' ? declineMessage(reason) : (reason ?? DENIED);
  return {
    verdict: { outcome: 'denied', reason, answers: null, updatedInput: null },
    response: refusal(request, message, defined({ interrupt: body.interrupt })),
  };
}

const declineMessage = (reason: string | null): string =>
  reason === null ? `${DECLINED}, and gave no reason.` : `${DECLINED}. The reason given: ${reason}`;

/** What a request gets that nobody answered in time; worded apart from a person's no. */
export function timeOut(request: PendingRequest): Answer {
  return {
    verdict: { outcome: 'timed-out', reason: NOBODY, answers: null, updatedInput: null },
    response: refusal(request, NOBODY),
  };
}

/** `message` must be there: without it the model reads of an invalid permission result. */
function refusal({ kind }: PendingRequest, message: string, more: Record<string, unknown> = {}) {
  return kind === 'elicitation' ? { action: 'decline' } : { behavior: 'deny', message, ...more };
}

/** @throws Rejection `wrong_kind`, `bad_request` unless exactly the questions asked are answered */
export function answerQuestion(request: PendingRequest, { answers }: AnswerBody): Answer {
  if (request.kind !== 'question') {
    throw new Rejection(
      'wrong_kind',
      `This is a request to use ${request.displayName}, not a question. Allow or deny it.`,
    );
  }
  const problem = answersProblem(questionsOf(request.input), answers);
  if (problem !== null) throw new Rejection('bad_request', problem);
  return {
    verdict: { outcome: 'answered', reason: null, answers, updatedInput: null },
    response: { behavior: 'allow', updatedInput: { ...request.input, answers } },
  };
}

const defined = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
