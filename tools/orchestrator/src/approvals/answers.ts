import type { AnswerBody, ApproveBody, PendingRequest } from '@callboard/contract';
import { permissionUpdatesProblem, type SavedRule } from '../agent/permission-updates.ts';
import { requestKinds } from '../kinds/registry.ts';
import type { Answer } from '../kinds/shared/definition.ts';
import { Rejection } from '../lib/errors.ts';

const NOBODY =
  'Nobody answered within the time limit. This is not a decision of the user: go on without it, or ask again later.';

/**
 * Returns the answer that allows a request.
 * @throws Rejection `wrong_kind` for a question; `bad_request` for an input that would not run, or a field that the CLI would ignore
 */
export function allow(request: PendingRequest, body: ApproveBody): Answer {
  const { allow } = requestKinds[request.kind];
  if (allow === null) {
    const message =
      'This is a question: allowing it without answers would tell Claude that nobody answered. Send the answers instead.';
    throw new Rejection('wrong_kind', message);
  }
  requireThatAllCounts(request, body);
  return allow(request, body);
}

/** The CLI ignores some fields silently, so a person would believe that something was granted or that the turn ended. */
function requireThatAllCounts({ suggestions }: PendingRequest, { interrupt, updatedPermissions = [] }: ApproveBody) {
  if (interrupt === true) {
    const message = 'interrupt ends the turn, so an allowed call could not run. Leave it out, or deny.';
    throw new Rejection('bad_request', message);
  }
  const problem = permissionUpdatesProblem(updatedPermissions, suggestions);
  if (problem !== null) throw new Rejection('bad_request', problem);
}

/** Returns the rules that outlive the session after this decision. */
export const saved = (request: PendingRequest, body: ApproveBody): SavedRule[] =>
  body.decision === 'allow' ? requestKinds[request.kind].saves(request, body) : [];

/**
 * Returns the answer that denies a request. The model reads the reason word for word unless `interrupt` ends the turn.
 * @throws Rejection `bad_request` for `cancel` of anything but a form
 */
export function deny(
  { kind }: PendingRequest,
  { reason: given, interrupt, cancel }: Pick<ApproveBody, 'reason' | 'interrupt' | 'cancel'>,
): Answer {
  if (cancel === true && kind !== 'elicitation')
    throw new Rejection('bad_request', 'cancel closes a form of an MCP server. Leave it out to deny.');
  const reason = given?.trim() ? given : null;
  const { denialMessage, decline } = requestKinds[kind];
  return {
    verdict: { outcome: 'denied', reason, answers: null, updatedInput: null },
    response: decline(denialMessage(reason), {
      ...(interrupt === undefined ? {} : { interrupt }),
      ...(cancel === undefined ? {} : { cancel }),
    }),
  };
}

/** Returns the answer to an expired request. Its wording differs from a person's denial. */
export const timeOut = ({ kind }: PendingRequest): Answer => ({
  verdict: { outcome: 'timed-out', reason: NOBODY, answers: null, updatedInput: null },
  response: requestKinds[kind].decline(NOBODY),
});

/**
 * Returns the answer with a person's answers to a question.
 * @throws Rejection `wrong_kind` if the request is not a question; `bad_request` unless exactly the questions asked are answered
 */
export function answerQuestion(request: PendingRequest, body: AnswerBody): Answer {
  const { answer } = requestKinds[request.kind];
  if (answer !== null) return answer(request, body);
  const message = `This is a request to use ${request.displayName}, not a question. Allow or deny it.`;
  throw new Rejection('wrong_kind', message);
}
