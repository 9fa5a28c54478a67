import type { AnswerBody, ApproveBody, PendingRequest } from '@callboard/contract';
import type { UseMutationResult } from '@tanstack/react-query';

export type Verdict = Omit<ApproveBody, 'requestId'>;

/** The answers to a question, or a refusal to answer. */
export type QuestionAnswer = Pick<AnswerBody, 'answers'> | Pick<Verdict, 'decision' | 'reason'>;

/** The mutation that allows or denies a request; all buttons of a form share it. */
export type Approval = UseMutationResult<void, Error, Verdict>;

/** The props of a request's form: the request and the two ways to answer it. */
export interface FormProps {
  request: PendingRequest;
  /** Allows or denies it (`approve_tool`). */
  approve: Approval;
  /** Answers its questions, or declines to (`answer_question`, `approve_tool`). */
  answer: UseMutationResult<void, Error, QuestionAnswer>;
}
