import type { Decision, PendingRequest } from '@callboard/contract';

/**
 * What Claude is told of an answer that it may not have got: what was decided on which call, that nobody knows whether
 * it arrived, and to look before doing it again. It allows nothing: a call that is made again is asked for again.
 */
export function retryMessage(request: PendingRequest, decision: Decision): string {
  return [whatHappened(request, decision), whatWasDecided(request, decision), whatToDo(request, decision)].join('\n\n');
}

function whatHappened(request: PendingRequest, { lost }: Decision): string {
  const call = callOf(request);
  return lost?.ended === 'turn'
    ? `The confirmation of the answer to ${call} was lost, so it is not known whether the answer reached you. It may have, or not.`
    : `Your process ended just after ${call} had been answered, before it was known whether the answer reached you. It may have, or not.`;
}

function callOf({ kind, displayName, toolName, toolUseId, input }: PendingRequest): string {
  const id = toolUseId === '' ? '' : ` (tool use ${toolUseId})`;
  switch (kind) {
    case 'approval':
      return `your call of the tool ${toolName}${id}`;
    case 'question':
      return `your question${id}`;
    case 'plan':
      return `your plan${id}`;
    case 'network':
      return `a command's request to reach ${String(input.host)}`;
    case 'elicitation':
      return `a form of the tool server ${displayName}`;
    default:
      return kind satisfies never;
  }
}

function whatWasDecided(request: PendingRequest, { outcome, reason, answers, updatedInput }: Decision): string {
  switch (outcome) {
    case 'allowed':
      if (request.kind === 'plan') return 'The plan was accepted.';
      if (request.kind === 'network') return 'It was allowed.';
      if (updatedInput === null) return `It was allowed, with this input:\n${json(request.input)}`;
      return `It was allowed, with its input changed by the user to:\n${json(updatedInput)}`;
    case 'denied': {
      const what =
        request.kind === 'approval'
          ? `It was denied. Its input was:\n${json(request.input)}`
          : `It was ${request.kind === 'network' ? 'denied' : 'declined'}.`;
      return reason === null ? what : `${what}\n\nThe reason given:\n${reason}`;
    }
    case 'answered':
      return `The answer was:\n${json(answers ?? updatedInput)}`;
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
  if (!isYes) return 'Check that it was not done all the same, say so if it was, and go on without it.';
  switch (kind) {
    case 'approval':
      return 'Check first whether it was done. If it was, go on. If it was not and is still needed, make the call again; permission is asked for again as usual.';
    case 'network':
      return 'Check first whether the command got what it wanted. If it did not and it is still needed, run it again; permission is asked for again as usual.';
    case 'question':
      return 'Take this as the answer and go on; do not ask the same again.';
    case 'plan':
      return 'Check how far it was carried out, and go on from there. If you are still in plan mode, present the plan again.';
    case 'elicitation':
      return 'Check first whether the form arrived. If it did not and is still needed, make the call that led to it again.';
    default:
      return kind satisfies never;
  }
}

const json = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
