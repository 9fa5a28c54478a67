import {
  type AnswerBody,
  type ApproveBody,
  type BoardView,
  boardView,
  commands,
  type PendingRequest,
  type RequestOutcome,
} from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError, call } from '../../../lib/api.ts';
import { decisionWords } from '../../../lib/decision-words.ts';
import { requestKey } from '../../../lib/request-words.ts';
import { untilDelivered } from '../../../lib/until-delivered.ts';
import { boardQuery } from '../../../live/queries.ts';
import { markAnswered } from '../model/arming.ts';
import { useDrafts } from '../model/drafts.ts';

export type Verdict = Omit<ApproveBody, 'requestId'>;

/** Allows or denies a request. */
export const useApprove = (request: PendingRequest) =>
  useDecision<Verdict>(request, (verdict) => ({
    verb: 'approve',
    body: { requestId: request.requestId, ...verdict },
    outcome: verdict.decision === 'allow' ? 'allowed' : 'denied',
  }));

/** Answers a question. */
export const useAnswer = (request: PendingRequest) =>
  useDecision<AnswerBody['answers']>(request, (answers) => ({
    verb: 'answer',
    body: { requestId: request.requestId, answers },
    outcome: 'answered',
  }));

type Answer = { outcome: RequestOutcome } & (
  | { verb: 'approve'; body: ApproveBody }
  | { verb: 'answer'; body: AnswerBody }
);

/** The request goes only when the server has said that it is decided: by this answer, or by another that came first. */
function useDecision<Input>(request: PendingRequest, toAnswer: (input: Input) => Answer) {
  const cache = useQueryClient();
  const drop = useDrafts((drafts) => drafts.drop);
  const gone = () => {
    markAnswered();
    removePending(cache, request);
    drop(requestKey(request));
  };
  return useMutation({
    mutationFn: (input: Input) => deliver(request, toAnswer(input)),
    onSuccess: gone,
    onError(error) {
      if (!(error instanceof ApiError) || !['already_decided', 'request_closed'].includes(error.code)) return;
      tellConflict(error);
      gone();
    },
  });
}

/** The first answer wins, so that it may be sent again; an answer of ours that had arrived after all is no conflict. */
async function deliver({ stageId }: PendingRequest, { verb, body, outcome }: Answer): Promise<void> {
  const { reply } = commands.approve_tool;
  await untilDelivered(async (attempt) => {
    try {
      await call(`/api/sessions/${stageId}/${verb}`, { method: 'POST', body, reply });
    } catch (error) {
      const isOurs = error instanceof ApiError && error.decision?.outcome === outcome;
      if (attempt === 1 || !isOurs) throw error;
    }
  });
}

function tellConflict(error: ApiError): void {
  const stands = error.decision === null ? '' : ` What stands: ${decisionWords(error.decision)}.`;
  const title = error.code === 'already_decided' ? 'Somebody else answered first' : 'This request is closed';
  notifications.show({ title, message: `${error.message}${stands}`, color: 'gray', autoClose: 15_000 });
}

function removePending(cache: QueryClient, request: PendingRequest): void {
  const key = requestKey(request);
  cache.setQueryData(boardQuery.queryKey, (view: BoardView | undefined) => {
    if (view === undefined || !view.pending.some((other) => requestKey(other) === key)) return view;
    return boardView({ ...view, pending: view.pending.filter((other) => requestKey(other) !== key) });
  });
}
