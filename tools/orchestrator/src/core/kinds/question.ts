import { answersProblem, questionsOf } from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { oneLine } from '../agent-event.ts';
import { declineCall, type RequestKindDefinition, saveNothing } from './shared/definition.ts';

/** One or more questions, answered together; each answer is keyed by its question's text. */
export const question: RequestKindDefinition = {
  recognise: { by: 'tool', toolName: 'AskUserQuestion' },
  eventMeaning: 'Claude asks questions and waits for the answers',
  isListedOnInitialize: true,
  isAskedByCommand: false,
  describe: ({ input }) =>
    oneLine(
      questionsOf(input)
        .map((asked) => asked.question)
        .join(' '),
    ),
  allow: null,
  /** The CLI treats a missing or empty answer as "did not answer", so every question needs one. */
  answer: ({ input }, { answers }) => {
    const problem = answersProblem(questionsOf(input), answers);
    if (problem !== null) throw new Rejection('bad_request', problem);
    return {
      verdict: { outcome: 'answered', reason: null, answers, updatedInput: null },
      response: { behavior: 'allow', updatedInput: { ...input, answers } },
    };
  },
  saves: saveNothing,
  denialMessage: (reason) =>
    reason === null
      ? 'The user declined to answer, and gave no reason.'
      : `The user declined to answer. The reason given: ${reason}`,
  decline: declineCall,
  retry: {
    call: () => 'your question',
    allowed: () => 'It was allowed.',
    denied: () => 'It was declined.',
    next: 'Take this as the answer and go on; do not ask the same again.',
  },
};
