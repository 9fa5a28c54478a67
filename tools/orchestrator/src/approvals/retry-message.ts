import type { Decision, PendingRequest } from '@callboard/contract';
import { requestKinds } from '../kinds/registry.ts';
import { inputBlock } from '../kinds/shared/tool-call.ts';

/**
 * Returns the message to Claude about an answer that may not have arrived. It says which call was decided how, that it is unknown
 * whether the answer arrived, and that Claude should check before it repeats the call. The message allows nothing: a repeated call
 * needs permission again.
 */
export function retryMessage(request: PendingRequest, decision: Decision): string {
  return [whatHappened(request, decision), whatWasDecided(request, decision), whatToDo(request, decision)].join('\n\n');
}

function whatHappened(request: PendingRequest, { lost }: Decision): string {
  const id = request.toolUseId === '' ? '' : ` (tool use ${request.toolUseId})`;
  const call = `${requestKinds[request.kind].retry.call(request)}${id}`;
  return lost?.ended === 'turn'
    ? `The confirmation of the answer to ${call} was lost, so it is not known whether the answer reached you. It may have, or not.`
    : `Your process ended just after ${call} had been answered, before it was known whether the answer reached you. It may have, or not.`;
}

function whatWasDecided(request: PendingRequest, { outcome, reason, answers, updatedInput }: Decision): string {
  const { retry } = requestKinds[request.kind];
  switch (outcome) {
    case 'allowed':
      return retry.allowed(request, updatedInput);
    case 'denied':
      return reason === null ? retry.denied(request) : `${retry.denied(request)}\n\nThe reason given:\n${reason}`;
    case 'answered':
      return `The answer was:\n${inputBlock(answers ?? updatedInput)}`;
    case 'timed-out':
      return 'Nobody answered within the time limit, so it was denied. That was not a decision of the user.';
    case 'closed':
      return 'Nobody answered it.';
    default:
      return outcome satisfies never;
  }
}

function whatToDo({ kind }: PendingRequest, { outcome }: Decision): string {
  const isYes = outcome === 'allowed' || outcome === 'answered';
  return isYes
    ? requestKinds[kind].retry.next
    : 'Check that it was not done all the same, say so if it was, and go on without it.';
}
