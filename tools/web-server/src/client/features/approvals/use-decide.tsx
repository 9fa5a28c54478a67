import {
  type AnswerBody,
  type AnswerReply,
  type ApproveBody,
  type BoardView,
  boardView,
  byWhom,
  type Decision,
  type DelayedAnswer,
  type Me,
  type PendingRequest,
  type RequestOutcome,
  type StageView,
  UNREAD_MS,
  withAnswerDelayed,
} from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent } from 'react';
import { create } from 'zustand';
import { boardQuery, type Ending, endingKey, stageOf } from '../../data/queries.ts';
import { client, errorText } from '../../lib/api-client.ts';
import { asSentence, requestKey } from '../../lib/format.ts';
import { untilDelivered } from '../../lib/until-delivered.ts';
import { TimeSince } from '../../ui/text.tsx';
import { decisionText, decisionThatStands } from './kinds/decision-text.ts';
import { askSummary, askTitle } from './kinds/request-summary.ts';
import { useMe } from './presentation.tsx';
import { dropDraft } from './request-drafts.ts';
import { type Approval, type QuestionAnswer, usePending, type Verdict } from './use-request.ts';

/** Allows or denies a request. */
export const useApprove = (request: PendingRequest): Approval =>
  useSendAnswer<Verdict>(request, (verdict) => verdictAnswer(request, verdict));

/** Answers a question, or declines to answer. */
export const useAnswer = (request: PendingRequest) =>
  useSendAnswer<QuestionAnswer>(request, (answer) =>
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
function useSendAnswer<Input>(request: PendingRequest, toAnswer: (input: Input) => Answer) {
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

/** The answers that this tab sends. */
interface AnswersUnderWay {
  /** The requests that this tab is answering or has answered. Their end needs no notice here. */
  own: ReadonlySet<string>;
  /** How many answers are being sent. */
  sending: number;
}

const useAnswersUnderWay = create<AnswersUnderWay>(() => ({ own: new Set(), sending: 0 }));

const isOwn = (key: string): boolean => useAnswersUnderWay.getState().own.has(key);

const markOwn = (key: string): void => useAnswersUnderWay.setState(({ own }) => ({ own: new Set(own).add(key) }));

/** Forgets a request whose answer did not arrive, as somebody else may still answer it. */
const unmarkOwn = (key: string): void =>
  useAnswersUnderWay.setState(({ own }) => ({ own: new Set([...own].filter((other) => other !== key)) }));

// The browser shows its own wording.
const ask = (event: BeforeUnloadEvent) => event.preventDefault();

function countSending(by: 1 | -1): void {
  const { sending } = useAnswersUnderWay.getState();
  useAnswersUnderWay.setState({ sending: sending + by });
  if (sending === 0) window.addEventListener('beforeunload', ask);
  if (sending + by === 0) window.removeEventListener('beforeunload', ask);
}

/** Makes the browser ask before the page is left while an answer is being sent: the answer would be lost without notice. */
async function askBeforeLeaving<T>(send: () => Promise<T>): Promise<T> {
  countSending(1);
  try {
    return await send();
  } finally {
    countSending(-1);
  }
}

/** Whether an answer came too late: the request is decided or closed. */
const isConflict = (error: unknown): error is TransportError =>
  error instanceof TransportError && ['already_decided', 'request_closed'].includes(error.code);

const VERBS: Record<RequestOutcome, string> = {
  allowed: 'Allowed',
  denied: 'Denied',
  answered: 'Answered',
  'timed-out': 'Timed out',
  closed: 'Closed',
};

/** Whether a person decided the request, so that a decision stands. */
const isAnswered = ({ outcome }: Decision): boolean => ['allowed', 'denied', 'answered'].includes(outcome);

interface Elsewhere {
  request: PendingRequest;
  stage: StageView | undefined;
  decision: Decision;
  /** Whether this tab sent an answer too, which came second. */
  isUnused: boolean;
}

/** Notifies that a request was decided in another tab, on another device or by another program: by whom, how and when. */
function notifyDecidedElsewhere({ request, stage, decision, isUnused }: Elsewhere): void {
  const { outcome, at } = decision;
  notifications.show({
    // One notice per request, however many forms of it are open.
    id: requestKey(request),
    title: (
      <>
        {`${`${VERBS[outcome]} elsewhere ${byWhom(decision)}`.trim()}, `}
        <TimeSince at={at} ago />
      </>
    ),
    message: (
      <>
        <div>
          {shortened(`${stage?.title ?? request.stageId}: ${askSummary(request, stage?.worktree?.path ?? null)}`)}
        </div>
        {isUnused && <div>Your answer was not used.</div>}
      </>
    ),
    color: 'gray',
    autoClose: 15_000,
  });
}

const SHOWN = 160;
const shortened = (text: string): string => (text.length <= SHOWN ? text : `${text.slice(0, SHOWN - 1)}…`);

/** For this long, further answers are awaited: what was allowed together is asked about once. */
const QUIET_MS = 300;
/** The most offers that are looked for at once; the next press on such a request shows the others. */
const MAX = 10;

/** What was allowed just now. */
interface JustAllowed {
  /** The newest request of each kind of call. */
  requests: ReadonlyMap<string, PendingRequest>;
  /** Looks for their offers. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

const useJustAllowed = create<JustAllowed>(() => ({ requests: new Map(), timer: undefined }));

/** Looks whether people have allowed the same three times, and offers the exact rule then. Nothing is lost where that fails. */
function offerRule(cache: QueryClient, request: PendingRequest): void {
  const { kind, toolName, input, suppressAlwaysAllow, leavesSandbox } = request;
  if (kind !== 'approval' || suppressAlwaysAllow || leavesSandbox !== null) return;
  const projectId = stageInCache(cache, request)?.projectId;
  const { requests, timer } = useJustAllowed.getState();
  clearTimeout(timer);
  useJustAllowed.setState({
    requests: new Map(requests).set(JSON.stringify([projectId, toolName, input], withoutText), request),
    timer: setTimeout(findOffers, QUIET_MS),
  });
}

function findOffers(): void {
  const requests = [...useJustAllowed.getState().requests.values()].slice(-MAX);
  useJustAllowed.setState({ requests: new Map(), timer: undefined });
  void import('../rules/rule-offer.tsx')
    .then(({ notifyRuleOffer }) => Promise.allSettled(requests.map(notifyRuleOffer)))
    .catch(() => undefined);
}

/** What Claude says about a command is no part of it. */
const withoutText = (name: string, value: unknown): unknown => (name === 'description' ? undefined : value);

/** Notifies why an open form closed: somebody answered it elsewhere, it expired, or Claude withdrew it. */
export function useEndingNotice(request: PendingRequest, title: string): void {
  const cache = useQueryClient();
  const notify = useEffectEvent((shownFor: number) => {
    const ending = cache.getQueryData<Ending>(endingKey(request));
    const isUnread = shownFor < UNREAD_MS && ending !== undefined && isWithdrawn(ending);
    if (!isUnread && !isOwn(requestKey(request))) showEnding(cache, request, title);
  });
  useEffect(() => {
    const shownAt = performance.now();
    return () => notify(performance.now() - shownAt);
  }, []);
}

const isWithdrawn = (ending: Ending): boolean => ending.kind === 'withdrawn' || ending.decision.outcome === 'closed';

/** Notifies how a request ended. */
function showEnding(cache: QueryClient, request: PendingRequest, name: string): void {
  const ending = cache.getQueryData<Ending>(endingKey(request));
  if (ending === undefined) return;
  if (ending.kind === 'decided' && isAnswered(ending.decision)) {
    const stage = stageInCache(cache, request);
    notifyDecidedElsewhere({ request, stage, decision: ending.decision, isUnused: false });
    return;
  }
  const { title, message } = endingText(ending);
  notifications.show({
    id: requestKey(request),
    title,
    message: `${asSentence(name)} ${message}`,
    color: 'gray',
    autoClose: 15_000,
  });
}

/** Returns the stage of a request if the board is in the cache. */
function stageInCache(cache: QueryClient, { stageId }: PendingRequest) {
  const view = cache.getQueryData(boardQuery.queryKey);
  return view && stageOf(stageId)(view);
}

function endingText(ending: Ending): { title: string; message: string } {
  if (ending.kind === 'withdrawn') return { title: 'No longer needed', message: ending.reason };
  const { decision } = ending;
  if (decision.outcome === 'timed-out') return { title: 'Timed out', message: `${decisionText(decision)}.` };
  return { title: 'No longer needed', message: decision.reason ?? '' };
}

/** Returns the requests whose answer by this person is held back, and can be taken back. */
export function useDelayedByMe(): PendingRequest[] {
  const { name } = useMe();
  return usePending().filter((request) => isDelayedBy(request, name));
}

/** Returns the requests that this person is not answering already. */
export function useNotDelayedByMe(): PendingRequest[] {
  const { name } = useMe();
  return (
    useQuery({
      ...boardQuery,
      select: ({ pending }) => {
        const left = pending.filter((request) => !isDelayedBy(request, name));
        return left.length === pending.length ? pending : left;
      },
    }).data ?? []
  );
}

/** Shows an answer as held back, or as taken back, before its event arrives. */
function setHeld(cache: QueryClient, request: PendingRequest, held: (me: Me) => DelayedAnswer | null): void {
  const key = requestKey(request);
  cache.setQueryData(boardQuery.queryKey, (view: BoardView | undefined) => {
    const change = (one: PendingRequest) =>
      view !== undefined && requestKey(one) === key ? withAnswerDelayed(one, held(view.me)) : one;
    return view && { ...view, pending: view.pending.map(change) };
  });
}

/** Takes answers of this person back that are held back. What was sent meanwhile is told, one by one. */
export function useWithdraw() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (requests: readonly PendingRequest[]) => Promise.all(requests.map((one) => withdraw(cache, one))),
  });
}

async function withdraw(cache: QueryClient, request: PendingRequest): Promise<void> {
  const { stageId, requestId } = request;
  try {
    await untilDelivered((_, signal) => client.command('take_back_answer', { stageId, requestId }, { signal }));
    unmarkOwn(requestKey(request));
    setHeld(cache, request, () => null);
  } catch (error) {
    const decision = isConflict(error) ? error.decision : null;
    const title = stageInCache(cache, request)?.title ?? stageId;
    notifications.show({
      title: isConflict(error) ? 'Too late to take it back' : 'The answer was not taken back',
      message: `${title}: ${decision === null ? errorText(error) : `${decisionText(decision)}.`}`,
      color: 'gray',
      autoClose: 15_000,
    });
  }
}

/** When an answer that was held back was sent, its draft goes, and a rule is offered as for any answer. If the request was closed instead, that is told. */
export function useDelayedEnding(request: PendingRequest, title: string): void {
  const cache = useQueryClient();
  const end = useEffectEvent(() => {
    const ending = cache.getQueryData<Ending>(endingKey(request));
    if (ending === undefined) return;
    if (ending.kind !== 'decided' || ending.decision.outcome !== request.held?.outcome) {
      showEnding(cache, request, title);
      return;
    }
    dropDraft(cache, request);
    // Not in the other tabs of this person, which show the answer as well.
    if (ending.decision.outcome === 'allowed' && isOwn(requestKey(request))) offerRule(cache, request);
  });
  useEffect(() => () => end(), []);
}

/** Whether an answer of this person is held back. */
export const isDelayedBy = ({ held }: PendingRequest, name: string): boolean => held?.by === name;

const TEXTS = { allowed: 'Allowed', denied: 'Denied', answered: 'Answered' } as const;

/** "You are answering", "Ada is answering" */
export const answeringText = (who: string): string => `${who} ${who === 'You' ? 'are' : 'is'} answering`;

/** Returns an answer that is held back in one word: "Allowed". */
export const delayedLabel = ({ outcome }: DelayedAnswer): string => TEXTS[outcome];

/** Returns several of them in words: "5 allowed", "3 allowed, 2 denied". */
export function delayedText(held: readonly DelayedAnswer[]): string {
  const counts = Map.groupBy(held, ({ outcome }) => outcome);
  return [...counts].map(([outcome, all]) => `${all.length} ${outcome}`).join(', ');
}
