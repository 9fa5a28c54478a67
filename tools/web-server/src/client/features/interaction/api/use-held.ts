import {
  type BoardView,
  type DelayedAnswer,
  type Me,
  type PendingRequest,
  withAnswerDelayed,
} from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent } from 'react';
import { boardQuery, type Ending, endingKey } from '../../../data/queries.ts';
import { client, errorText } from '../../../lib/api-client.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { untilDelivered } from '../../../lib/until-delivered.ts';
import { isOwn, unmarkOwn } from '../model/answers-under-way.ts';
import { isDelayedBy } from '../model/held-answers.ts';
import { decisionText } from '../words/decision-words.ts';
import { isConflict } from './is-conflict.ts';
import { offerRule } from './offer-rule.ts';
import { dropDraft } from './use-draft.ts';
import { showEnding, stageInCache } from './use-ending-notice.ts';
import { useMe } from './use-me.ts';
import { usePending } from './use-request.ts';

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
export function setHeld(cache: QueryClient, request: PendingRequest, held: (me: Me) => DelayedAnswer | null): void {
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
