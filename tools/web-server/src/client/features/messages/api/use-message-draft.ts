import type { StageId } from '@callboard/contract';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { draftOf, draftsQuery, putDraft } from '../../../data/server-drafts.ts';
import { untilDelivered } from '../../../lib/until-delivered.ts';
import { useUnsent } from '../model/unsent-store.ts';

/** The key of the draft that a message box has. */
export const KEY = 'message';
const PAUSE_MS = 400;

/** The text of a stage's message box. The server stores it a moment after it was typed. */
export function useMessageDraft(stageId: StageId) {
  const cache = useQueryClient();
  const { data: stored } = useQuery({ ...draftsQuery(stageId), select: draftOf(KEY) });
  const unsaved = useUnsent(({ texts }) => texts[stageId]);
  const { setText } = useUnsent.getState();

  useEffect(() => {
    if (unsaved === undefined) return;
    const timer = setTimeout(() => void save(cache, stageId, unsaved), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [cache, stageId, unsaved]);

  useEffect(() => {
    const saveNow = () => saveBeforeLeaving(cache, stageId);
    window.addEventListener('pagehide', saveNow);
    return () => {
      window.removeEventListener('pagehide', saveNow);
      saveNow();
    };
  }, [cache, stageId]);

  const kept = typeof stored?.value === 'string' ? stored.value : '';
  return {
    text: unsaved ?? kept,
    setText: (text: string) => setText(stageId, text),
    /** The message was sent: clears its draft, but not what was typed meanwhile. */
    forget(sent: string) {
      if ((useUnsent.getState().texts[stageId] ?? kept) === sent) setText(stageId, '');
    },
  };
}

const draft = (stageId: StageId, text: string) => ({ stageId, key: KEY, value: text === '' ? null : text });

async function save(cache: QueryClient, stageId: StageId, text: string): Promise<void> {
  try {
    await untilDelivered((_attempt, signal) => putDraft(cache, draft(stageId, text), { signal }));
    useUnsent.getState().textSaved(stageId, text);
  } catch {
    // The text stays in this tab; the next key pressed tries again.
  }
}

function saveBeforeLeaving(cache: QueryClient, stageId: StageId): void {
  const text = useUnsent.getState().texts[stageId];
  if (text === undefined) return;
  putDraft(cache, draft(stageId, text), { keepalive: true }).then(
    () => useUnsent.getState().textSaved(stageId, text),
    () => undefined,
  );
}
