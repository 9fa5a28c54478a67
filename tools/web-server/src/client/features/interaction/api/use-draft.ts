import type { PendingRequest } from '@callboard/contract';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { draftOf, draftsQuery, putDraft } from '../../../data/server-drafts.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { EMPTY_DRAFT, type RequestDraft, readDraft, useUnsaved } from '../model/request-drafts.ts';

type Location = Pick<PendingRequest, 'stageId' | 'requestId'>;

/** Saves drafts when the page is left or hidden. @returns a function that stops this */
export function saveDraftsOnLeave(): () => void {
  const { saver } = useUnsaved.getState();
  const onVisibility = () => {
    if (document.visibilityState === 'hidden') saver.flush();
  };
  // Not `unload`: the browser may discard a background page without firing it.
  window.addEventListener('pagehide', saver.flush);
  document.addEventListener('visibilitychange', onVisibility);
  return () => {
    window.removeEventListener('pagehide', saver.flush);
    document.removeEventListener('visibilitychange', onVisibility);
  };
}

/** Returns the draft of a request and a function that changes it. */
export function useDraft(request: Location): [RequestDraft, (change: Partial<RequestDraft>) => void] {
  const { stageId, requestId } = request;
  const cache = useQueryClient();
  const { data: stored } = useQuery({ ...draftsQuery(request.stageId), select: draftOf(request.requestId) });
  const unsaved = useUnsaved(({ byRequest }) => byRequest[requestKey(request)]);
  const draft = unsaved ?? readDraft(stored?.value) ?? EMPTY_DRAFT;
  useEffect(() => {
    // What an earlier page has left in this browser is told to the server as well.
    const { byRequest } = useUnsaved.getState();
    const left = byRequest[requestKey({ stageId, requestId })];
    if (left !== undefined) changeDraft(cache, { stageId, requestId }, left);
  }, [cache, stageId, requestId]);
  return [draft, (change) => changeDraft(cache, request, { ...current(cache, request), ...change })];
}

/** Returns the newest state, even for a second change before the next render. */
const current = (cache: QueryClient, request: Location): RequestDraft =>
  useUnsaved.getState().byRequest[requestKey(request)] ?? readDraft(storedDraft(cache, request)?.value) ?? EMPTY_DRAFT;

const storedDraft = (cache: QueryClient, { stageId, requestId }: Location) =>
  draftOf(requestId)(cache.getQueryData(draftsQuery(stageId).queryKey) ?? []);

function changeDraft(cache: QueryClient, request: Location, draft: RequestDraft): void {
  const key = requestKey(request);
  const { set, drop, saver } = useUnsaved.getState();
  set(key, draft);
  saver.plan(key, async ({ keepalive }) => {
    const isSame = JSON.stringify(draft) === JSON.stringify(EMPTY_DRAFT);
    const value = isSame ? null : draft;
    await putDraft(cache, { stageId: request.stageId, key: request.requestId, value }, { keepalive });
    // The drafts may still be on their way, as they were before this one: then only this tab has it.
    const isSaved = value === null || storedDraft(cache, request) !== undefined;
    if (isSaved && useUnsaved.getState().byRequest[key] === draft) drop(key);
  });
}

/** Removes the draft of an answered request. */
export function dropDraft(cache: QueryClient, request: Location): void {
  const key = requestKey(request);
  const isKnown = key in useUnsaved.getState().byRequest || storedDraft(cache, request) !== undefined;
  const { drop, saver } = useUnsaved.getState();
  drop(key);
  if (!isKnown) return;
  saver.now(key, async () => {
    await putDraft(cache, { stageId: request.stageId, key: request.requestId, value: null });
  });
}
