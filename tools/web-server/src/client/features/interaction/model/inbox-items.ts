import type { PendingRequest, StageView } from '@callboard/contract';
import { requestKey } from '../../../lib/request-text.ts';
import { type InboxFilter, inboxAddress } from './inbox-filter.ts';

/** A row of the inbox: a request, or a stage that needs a person but has no request. */
export type InboxItem =
  | { kind: 'request'; key: string; address: string; stageId: PendingRequest['stageId']; request: PendingRequest }
  | { kind: 'stage'; key: string; address: string; stageId: StageView['id']; stage: StageView };

interface Rows {
  requests: readonly PendingRequest[];
  stopped: readonly StageView[];
}

/** Returns the inbox's rows. Requests come first, as Claude waits for them. */
export function inboxItems({ requests, stopped }: Rows, filter: InboxFilter): InboxItem[] {
  const address = (name: InboxItem['kind'], key: string) => inboxAddress(filter, { name, key });
  return [
    ...requests.map((request): InboxItem => {
      const key = requestKey(request);
      return { kind: 'request', key, address: address('request', key), stageId: request.stageId, request };
    }),
    ...stopped.map((stage): InboxItem => {
      const key = String(stage.id); // without a slash, unlike the key of a request
      return { kind: 'stage', key, address: address('stage', key), stageId: stage.id, stage };
    }),
  ];
}

/** Returns the key of the row that the URL names; null if it names none. */
export const wantedKey = (params: URLSearchParams): string | null => params.get('request') ?? params.get('stage');
