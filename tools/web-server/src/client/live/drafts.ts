import type { Draft, StageId } from '@callboard/contract';
import type { CallOptions } from '@callboard/contract/client';
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api.ts';

// What was begun to write and not sent, as the server keeps it: the same after a reload and on another device.

/** This tab, among the writers of drafts. */
const TAB_ID = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join(
  '',
);

export const draftsQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['drafts', stageId],
    queryFn: async ({ signal }) => (await client.command('get_drafts', { stageId }, { signal })).drafts,
  });

export const draftOf = (key: string) => (drafts: Draft[]) => drafts.find((draft) => draft.key === key);

/** Keeps a draft; a value of null removes it. `keepalive`: the page is about to go. */
export async function putDraft(
  cache: QueryClient,
  draft: Pick<Draft, 'stageId' | 'key' | 'value'>,
  options: CallOptions = {},
): Promise<void> {
  const kept = await client.command('put_draft', { ...draft, writer: TAB_ID }, options);
  takeDraft(cache, kept.draft);
}

/** Takes a newer state of a draft into the cache; an older one changes nothing. */
export function takeDraft(cache: QueryClient, draft: Draft): void {
  const { queryKey } = draftsQuery(draft.stageId);
  // An answer on its way may be older than this.
  if (cache.getQueryState(queryKey)?.fetchStatus === 'fetching') void cache.invalidateQueries({ queryKey });
  cache.setQueryData(queryKey, (old) => old && withDraft(old, draft));
}

function withDraft(drafts: Draft[], draft: Draft): Draft[] {
  const known = drafts.find((other) => other.key === draft.key);
  if (known !== undefined && known.updatedAt > draft.updatedAt) return drafts;
  const others = drafts.filter((other) => other.key !== draft.key);
  return draft.value === null ? others : [...others, draft];
}
