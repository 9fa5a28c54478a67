import type { Draft, StageId } from '@callboard/contract';
import type { CallOptions } from '@callboard/contract/client';
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';

// Drafts as the server keeps them: the same after a reload and on another device.

/** Identifies this tab among the writers of drafts. */
const TAB_ID = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join(
  '',
);

/** All drafts of a stage. */
export const draftsQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['drafts', stageId],
    queryFn: async ({ signal }) => (await client.command('get_drafts', { stageId }, { signal })).drafts,
  });

/** Selects the draft with this key. */
export const draftOf = (key: string) => (drafts: Draft[]) => drafts.find((draft) => draft.key === key);

/**
 * Stores a draft; a value of null removes it. Set `keepalive` if the page is about to close.
 * @returns the text of its message, if it was sent already: then nothing was stored
 */
export async function putDraft(
  cache: QueryClient,
  draft: Pick<Draft, 'stageId' | 'key' | 'value'>,
  options: CallOptions = {},
): Promise<string | null> {
  const saved = await client.command('put_draft', { ...draft, writer: TAB_ID }, options);
  if (saved.sent !== undefined) return saved.sent;
  applyDraft(cache, saved.draft);
  return null;
}

/** Puts a newer state of a draft into the cache; an older one changes nothing. */
export function applyDraft(cache: QueryClient, draft: Draft): void {
  const { queryKey } = draftsQuery(draft.stageId);
  // A response on its way may be older than this.
  if (cache.getQueryState(queryKey)?.fetchStatus === 'fetching') void cache.invalidateQueries({ queryKey });
  cache.setQueryData(queryKey, (old) => old && withDraft(old, draft));
}

function withDraft(drafts: Draft[], draft: Draft): Draft[] {
  const known = drafts.find((other) => other.key === draft.key);
  if (known !== undefined && known.updatedAt > draft.updatedAt) return drafts;
  const others = drafts.filter((other) => other.key !== draft.key);
  return draft.value === null ? others : [...others, draft];
}
