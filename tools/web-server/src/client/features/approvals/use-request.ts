import type { AnswerBody, AnswerReply, ApproveBody, PendingRequest, StageId } from '@callboard/contract';
import { type UseMutationResult, useQuery } from '@tanstack/react-query';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { useCanAnswer } from '../../stream/stream-context.tsx';

export const useStageTitle = (stageId: StageId): string =>
  useQuery({ ...boardQuery, select: (view) => stageOf(stageId)(view)?.title }).data ?? stageId;

/** Returns the folder in which the stage's Claude works; null while there is none. */
export const useFolder = (stageId: StageId): string | null =>
  useQuery({ ...boardQuery, select: (view) => stageOf(stageId)(view)?.worktree?.path ?? null }).data ?? null;

export const useProject = (stageId: StageId) =>
  useQuery({
    ...boardQuery,
    select: (view) => view.projects.find((project) => project.id === stageOf(stageId)(view)?.projectId),
  }).data;

export const useProjectName = (stageId: StageId): string | undefined => useProject(stageId)?.name;

/** Returns the name of the stage's current phase, if it has phases. */
export const usePhaseName = (stageId: StageId): string | undefined =>
  useQuery({
    ...boardQuery,
    select: (view) => {
      const stage = stageOf(stageId)(view);
      return stage?.pipeline[stage.session?.phaseIndex ?? 0]?.name;
    },
  }).data;

/** Returns all pending requests. */
export const usePending = () => useQuery({ ...boardQuery, select: (view) => view.pending }).data ?? [];

/** Whether an answer can be given now: nobody is answering, and the server is there. */
export const useCanDecide = ({ held }: PendingRequest): boolean => useCanAnswer() && held === undefined;

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
