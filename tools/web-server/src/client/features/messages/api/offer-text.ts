import type { StageId } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { changeText, currentDraft } from './use-message-draft.ts';

/** Puts a text into a stage's message box, unless something is in it. */
export function useOfferText(): (stageId: StageId, text: string) => void {
  const cache = useQueryClient();
  return (stageId, text) => {
    if ((currentDraft(cache, stageId)?.text ?? '').trim() === '') changeText(cache, stageId, text);
  };
}
