import type { StageId } from '@callboard/contract';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { untilDelivered } from '../../../lib/until-delivered.ts';
import { draftOf, draftsQuery, putDraft } from '../../../live/drafts.ts';
import { useUnsavedDrafts } from '../model/drafts.ts';

const KEY = 'message';
const PAUSE_MS = 400;

/** The text of a stage's message box: kept by the server, a moment after it was typed. */
export function useMessageDraft(stageId: StageId) {
  const cache = useQueryClient();
  const { data: stored } = useQuery({ ...draftsQuery(stageId), select: draftOf(KEY) });
  const unsaved = useUnsavedDrafts((drafts) => drafts.byStage[stageId]);
  const { set } = useUnsavedDrafts.getState();

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
    setText: (text: string) => set(stageId, text),
    /** The message is with the server: its draft goes, and what was typed meanwhile stays. */
    forget(sent: string) {
      if ((useUnsavedDrafts.getState().byStage[stageId] ?? kept) === sent) set(stageId, '');
    },
  };
}

const draft = (stageId: StageId, text: string) => ({ stageId, key: KEY, value: text === '' ? null : text });

async function save(cache: QueryClient, stageId: StageId, text: string): Promise<void> {
  try {
    await untilDelivered((_attempt, signal) => putDraft(cache, draft(stageId, text), { signal }));
    useUnsavedDrafts.getState().saved(stageId, text);
  } catch {
    // It stays in this tab; the next key that is typed tries again.
  }
}

function saveBeforeLeaving(cache: QueryClient, stageId: StageId): void {
  const text = useUnsavedDrafts.getState().byStage[stageId];
  if (text === undefined) return;
  putDraft(cache, draft(stageId, text), { keepalive: true }).then(
    () => useUnsavedDrafts.getState().saved(stageId, text),
    () => undefined,
  );
}
