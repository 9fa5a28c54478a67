import type { PendingRequest } from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent } from 'react';
import { boardQuery, type Ending, endingKey, stageOf } from '../../../data/queries.ts';
import { asSentence, requestKey } from '../../../lib/request-text.ts';
import { isOwn } from '../model/answers-under-way.ts';
import { decisionText } from '../words/decision-words.ts';
import { isAnswered, notifyDecidedElsewhere } from './notify-decided-elsewhere.tsx';

/** Notifies why an open form closed: somebody answered it elsewhere, it expired, or Claude withdrew it. */
export function useEndingNotice(request: PendingRequest, title: string): void {
  const cache = useQueryClient();
  const notify = useEffectEvent(() => {
    if (!isOwn(requestKey(request))) showEnding(cache, request, title);
  });
  useEffect(() => () => notify(), []);
}

/** Notifies how a request ended. */
export function showEnding(cache: QueryClient, request: PendingRequest, name: string): void {
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
export function stageInCache(cache: QueryClient, { stageId }: PendingRequest) {
  const view = cache.getQueryData(boardQuery.queryKey);
  return view && stageOf(stageId)(view);
}

function endingText(ending: Ending): { title: string; message: string } {
  if (ending.kind === 'withdrawn') return { title: 'Claude took the request back', message: ending.reason };
  const { decision } = ending;
  if (decision.outcome === 'timed-out') return { title: 'Timed out', message: `${decisionText(decision)}.` };
  return { title: 'Claude took the request back', message: decision.reason ?? '' };
}
