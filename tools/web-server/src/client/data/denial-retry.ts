import type { RequestId, StageId } from '@callboard/contract';
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';
import { useCommand } from './use-command.tsx';

/** A call that Claude Code denied, by its entry in the decision log. */
export interface DeniedCall {
  stageId: StageId;
  requestId: RequestId;
}

const RETRY_KEY = 'denial-retry';

/** Whether a denied call can be allowed after all. It depends on settings and rules, which change without an event, so it is asked at each look. */
export const denialRetryQuery = ({ stageId, requestId }: DeniedCall) =>
  queryOptions({
    queryKey: [RETRY_KEY, stageId, requestId],
    refetchOnMount: 'always',
    queryFn: ({ signal }) => client.command('get_denial_retry', { stageId, requestId }, { signal }),
  });

/** Asks again whether the denied calls of a stage that are on screen can be allowed. */
export const refreshDenialRetries = (cache: QueryClient, stageId: StageId): void =>
  void cache.invalidateQueries({ queryKey: [RETRY_KEY, stageId] });

/** Allows a denied call, exactly and for an hour, and has Claude make it again. A second press changes nothing. */
export const useRetryDenial = (title: string) =>
  useCommand({
    run: (denied: DeniedCall) => client.command('retry_denial', denied),
    failed: `The denied call of ${title} was not allowed`,
    stageId: ({ stageId }) => stageId,
  });
