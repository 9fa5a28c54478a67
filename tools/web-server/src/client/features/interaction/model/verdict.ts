import type { AnswerBody, AnswerReply, ApproveBody, PendingRequest } from '@callboard/contract';
import type { UseMutationResult } from '@tanstack/react-query';

export type Verdict = Omit<ApproveBody, 'requestId'>;

/** An answer by a tap is held back, so that a slip of the thumb can be taken back; a key or the mouse sends it at once. */
export const delayedFor = (press: { isTap: boolean } | undefined): Pick<Verdict, 'hold'> =>
  press?.isTap === true ? { hold: true } : {};

/** The answers to a question, or a refusal to answer. */
export type QuestionAnswer = Pick<AnswerBody, 'answers' | 'hold'> | Pick<Verdict, 'decision' | 'reason' | 'hold'>;

/** The mutation that allows or denies a request; all buttons of a form share it. */
export type Approval = UseMutationResult<AnswerReply | null, Error, Verdict>;

/** The props of a request's form: the request and the two ways to answer it. */
export interface FormProps {
  request: PendingRequest;
  /** Allows or denies it (`approve_tool`). */
  approve: Approval;
  /** Answers its questions, or declines to (`answer_question`, `approve_tool`). */
  answer: UseMutationResult<AnswerReply | null, Error, QuestionAnswer>;
}
