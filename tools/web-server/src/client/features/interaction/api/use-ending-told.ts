import type { Decision, PendingRequest, RequestOutcome } from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { decisionWords } from '../../../lib/decision-words.ts';
import { requestKey } from '../../../lib/request-words.ts';
import { type Ending, endingKey } from '../../../live/endings.ts';
import { isOwn } from '../model/own-answers.ts';

/** Says why a form went that was open: somebody answered it elsewhere, its time was up, Claude took it back. */
export function useEndingTold(request: PendingRequest, title: string): void {
  const cache = useQueryClient();
  const { stageId, requestId } = request;
  useEffect(
    () => () => {
      const place = { stageId, requestId };
      if (!isOwn(requestKey(place))) tellEnding(cache, place, title);
    },
    [cache, stageId, requestId, title],
  );
}

function tellEnding(cache: QueryClient, place: Pick<PendingRequest, 'stageId' | 'requestId'>, name: string): void {
  const ending = cache.getQueryData<Ending>(endingKey(place));
  // Told once, however many forms of it were open.
  if (ending === undefined) return;
  const { title, message } = endingWords(ending);
  notifications.show({
    id: requestKey(place),
    title,
    message: `${name}. ${message}`,
    color: 'gray',
    autoClose: 15_000,
  });
}

function endingWords(ending: Ending): { title: string; message: string } {
  if (ending.kind === 'withdrawn') return { title: 'Claude took the request back', message: ending.reason };
  const { decision } = ending;
  if (decision.outcome === 'timed-out') return { title: 'Timed out', message: `${decisionWords(decision)}.` };
  if (decision.outcome === 'closed') return { title: 'Claude took the request back', message: decision.reason ?? '' };
  return { title: elsewhere(decision), message: `${decisionWords(decision)}.` };
}

const VERBS: Record<RequestOutcome, string> = {
  allowed: 'Allowed',
  denied: 'Denied',
  answered: 'Answered',
  'timed-out': 'Timed out',
  closed: 'Closed',
};

/** "Answered elsewhere by Ada": in another tab, on another device, or by another program. */
export const elsewhere = ({ outcome, by }: Decision): string =>
  `${VERBS[outcome]} elsewhere${by === null ? '' : ` by ${by}`}`;
