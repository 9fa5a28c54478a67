import type { AnswerBody, ApproveBody, PendingRequest } from '@callboard/contract';
import type { UseMutationResult } from '@tanstack/react-query';

export type Verdict = Omit<ApproveBody, 'requestId'>;

/** The answers to a question, or that there will be none. */
export type QuestionAnswer = Pick<AnswerBody, 'answers'> | Pick<Verdict, 'decision' | 'reason'>;

/** The one answer that a form gives; shared by all of its buttons. */
export type Approval = UseMutationResult<void, Error, Verdict>;

/** What the form of a request is given: the request, and the two ways to answer it. */
export interface FormProps {
  request: PendingRequest;
  /** Allows or denies it (`approve_tool`). */
  approve: Approval;
  /** Answers its questions, or declines to (`answer_question`, `approve_tool`). */
  answer: UseMutationResult<void, Error, QuestionAnswer>;
}
