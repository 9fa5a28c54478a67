import type { StageId } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { draftOf, draftsQuery } from '../../../data/server-drafts.ts';
import { useUnsent } from '../model/unsent-store.ts';
import { KEY } from './use-message-draft.ts';

/** Puts a text into a stage's message box, unless something is in it. */
export function useOfferText(): (stageId: StageId, text: string) => void {
  const cache = useQueryClient();
  return (stageId, text) => {
    const stored = draftOf(KEY)(cache.getQueryData(draftsQuery(stageId).queryKey) ?? [])?.value;
    const { texts, setText } = useUnsent.getState();
    if ((texts[stageId] ?? (typeof stored === 'string' ? stored : '')).trim() === '') setText(stageId, text);
  };
}
