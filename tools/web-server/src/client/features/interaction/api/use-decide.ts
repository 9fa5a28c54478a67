import {
  type AnswerBody,
  type AnswerReply,
  type ApproveBody,
  type BoardView,
  boardView,
  type DelayedAnswer,
  type PendingRequest,
} from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { client, errorText } from '../../../lib/api-client.ts';
import { asSentence, requestKey } from '../../../lib/request-text.ts';
import { untilDelivered } from '../../../lib/until-delivered.ts';
import { askBeforeLeaving, isOwn, markOwn, unmarkOwn } from '../model/answers-under-way.ts';
import type { Approval, QuestionAnswer, Verdict } from '../model/verdict.ts';
import { decisionText, decisionThatStands } from '../words/decision-words.ts';
import { askTitle } from '../words/request-words.ts';
import { isConflict } from './is-conflict.ts';
import { isAnswered, notifyDecidedElsewhere } from './notify-decided-elsewhere.tsx';
import { offerRule } from './offer-rule.ts';
import { dropDraft } from './use-draft.ts';
import { stageInCache } from './use-ending-notice.ts';
import { setHeld } from './use-held.ts';

/** Allows or denies a request. */
export const useApprove = (request: PendingRequest): Approval =>
  useDecision<Verdict>(request, (verdict) => verdictAnswer(request, verdict));

/** Answers a question, or declines to answer. */
export const useAnswer = (request: PendingRequest) =>
  useDecision<QuestionAnswer>(request, (answer) =>
    'answers' in answer
      ? { command: 'answer_question', body: { requestId: request.requestId, ...answer }, outcome: 'answered' }
      : verdictAnswer(request, answer),
  );

type Answer = { outcome: DelayedAnswer['outcome'] } & (
  | { command: 'approve_tool'; body: ApproveBody }
  | { command: 'answer_question'; body: AnswerBody }
);

const verdictAnswer = (request: PendingRequest, verdict: Verdict): Answer => ({
  command: 'approve_tool',
  body: { requestId: request.requestId, ...verdict },
  outcome: verdict.decision === 'allow' ? 'allowed' : 'denied',
});

/** Removes the request only once the server confirms that it is decided: by this answer, or by another that came first. */
function useDecision<Input>(request: PendingRequest, toAnswer: (input: Input) => Answer) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => deliver(request, toAnswer(input)),
    onSuccess(reply, input) {
      const answer = toAnswer(input);
      answered(cache, request, { reply, outcome: answer.outcome });
      if (isSent(reply) && answer.outcome === 'allowed' && !isGranting(answer)) offerRule(cache, request);
    },
    onError(error) {
      if (!isConflict(error)) return;
      showConflict(cache, request, error);
      gone(cache, request);
    },
  });
}

interface Answered {
  reply: AnswerReply | null;
  outcome: DelayedAnswer['outcome'];
}

/** A request whose answer is held back is still there; every place that shows it says so. */
function answered(cache: QueryClient, request: PendingRequest, { reply, outcome }: Answered): void {
  if (reply === null || 'decision' in reply) {
    gone(cache, request);
    return;
  }
  markOwn(requestKey(request));
  setHeld(cache, request, (me) => ({ by: me.name, outcome, until: reply.heldUntil }));
}

/** Whether the answer was sent, and is not held back. */
const isSent = (reply: AnswerReply | null): boolean => reply !== null && 'decision' in reply;

/** Whether the answer comes with a rule, so that no other is offered. */
const isGranting = ({ body }: Answer): boolean => 'updatedPermissions' in body && body.updatedPermissions !== undefined;

function gone(cache: QueryClient, request: PendingRequest): void {
  markOwn(requestKey(request)); // no further notice, whoever decided it
  removePending(cache, request);
  dropDraft(cache, request);
}

/** The result for one of several requests that were decided together. */
export interface ItemOutcome {
  request: PendingRequest;
  /** "allowed", or why it failed. */
  text: string;
  failed: boolean;
}

interface DecideAll extends Pick<Verdict, 'decision'> {
  requests: readonly PendingRequest[];
  /** Whether each answer is held back for a moment; what is, has no outcome yet. */
  hold: boolean;
}

/** How many answers are under way at the same time. */
const AT_ONCE = 4;

/** Decides several requests, each by a decision of its own. A failure does not stop the others. */
export function useDecideAll() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async ({ requests, decision, hold }: DecideAll) => {
      const outcomes = new Map<PendingRequest, ItemOutcome | null>();
      const waiting = [...requests];
      const decideNext = async (): Promise<void> => {
        const request = waiting.shift();
        if (request === undefined) return;
        outcomes.set(request, await decideOne(cache, request, { decision, ...(hold && { hold }) }));
        await decideNext();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, decideNext));
      return requests.flatMap((request) => outcomes.get(request) ?? []);
    },
  });
}

async function decideOne(cache: QueryClient, request: PendingRequest, verdict: Verdict): Promise<ItemOutcome | null> {
  const answer = verdictAnswer(request, verdict);
  try {
    const reply = await deliver(request, answer);
    answered(cache, request, { reply, outcome: answer.outcome });
    if (isSent(reply) && answer.outcome === 'allowed') offerRule(cache, request);
    return reply !== null && 'heldUntil' in reply ? null : { request, text: answer.outcome, failed: false };
  } catch (error) {
    if (isConflict(error)) gone(cache, request);
    const stands = isConflict(error) ? decisionThatStands(error) : null;
    const text = stands === null ? errorText(error) : `${decisionText(stands)}; this answer was not used`;
    return { request, text, failed: true };
  }
}

/** @returns null if an earlier attempt of ours was the answer. Retrying is safe, as the first answer wins. If our own earlier attempt had arrived after all, that is no conflict. */
async function deliver(request: PendingRequest, answer: Answer): Promise<AnswerReply | null> {
  const key = requestKey(request);
  const wasOwn = isOwn(key);
  markOwn(key); // its event may arrive before the reply
  try {
    const send = async (attempt: number, signal: AbortSignal) => {
      try {
        return await give(request, answer, signal);
      } catch (error) {
        const isOurs = error instanceof TransportError && error.decision?.outcome === answer.outcome;
        if (attempt === 1 || !isOurs) throw error;
        return null;
      }
    };
    return await askBeforeLeaving(() => untilDelivered(send));
  } catch (error) {
    if (!wasOwn && !isConflict(error)) unmarkOwn(key);
    throw error;
  }
}

function give({ stageId }: PendingRequest, { command, body }: Answer, signal: AbortSignal): Promise<AnswerReply> {
  return command === 'approve_tool'
    ? client.command(command, { stageId, ...body }, { signal })
    : client.command(command, { stageId, ...body }, { signal });
}

function showConflict(cache: QueryClient, request: PendingRequest, error: TransportError): void {
  const decision = decisionThatStands(error);
  const stage = stageInCache(cache, request);
  if (decision !== null && isAnswered(decision)) {
    notifyDecidedElsewhere({ request, stage, decision, isUnused: true });
    return;
  }
  const name = askTitle(request, stage?.title ?? request.stageId, stage?.worktree?.path ?? null);
  const text = decision === null ? error.message : `${decisionText(decision)}. Your answer was not used.`;
  notifications.show({
    id: requestKey(request),
    title: decision === null ? 'This request is closed' : 'Timed out',
    message: `${asSentence(name)} ${text}`,
    color: 'gray',
    autoClose: 15_000,
  });
}

function removePending(cache: QueryClient, request: PendingRequest): void {
  const key = requestKey(request);
  cache.setQueryData(boardQuery.queryKey, (view: BoardView | undefined) => {
    if (view === undefined || !view.pending.some((other) => requestKey(other) === key)) return view;
    return boardView({ ...view, pending: view.pending.filter((other) => requestKey(other) !== key) });
  });
}
