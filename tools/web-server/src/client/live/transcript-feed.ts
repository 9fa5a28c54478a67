import type { StageId } from '@callboard/contract';
import type { QueryClient } from '@tanstack/react-query';
import { dropBlocks } from './live-text.ts';
import { recentOn, transcriptQuery } from './queries.ts';
import type { LiveStore } from './state.ts';
import { joinTranscripts, lastIndex, loadAfter, withDecisions } from './transcript.ts';

/** Fetches what was appended to the transcripts that are open; many notifications become one request. */
export function createTranscriptFeed(cache: QueryClient, store: LiveStore) {
  const wanted = new Map<StageId, number>();
  const pulling = new Set<StageId>();

  async function pull(stageId: StageId): Promise<void> {
    const query = transcriptQuery(stageId);
    const { queryKey } = query;
    if (cache.getQueryState(queryKey) === undefined) return; // nobody looks at it
    for (;;) {
      const last = lastIndex(await cache.ensureQueryData(query));
      if (last >= (wanted.get(stageId) ?? 0)) return;
      const more = await loadAfter(stageId, last);
      cache.setQueryData(
        queryKey,
        (old) => old && withDecisions(joinTranscripts(old, more), recentOn(cache).decisions(stageId)),
      );
      const stored = new Set(more.entries.flatMap((entry) => ('blockId' in entry ? [entry.blockId] : [])));
      store.setState((state) => ({ text: dropBlocks(state.text, stageId, stored) }));
      if (more.entries.length === 0) return;
    }
  }

  return {
    appended(stageId: StageId, index: number): void {
      wanted.set(stageId, Math.max(index, wanted.get(stageId) ?? 0));
      if (pulling.has(stageId)) return;
      pulling.add(stageId);
      pull(stageId)
        // Not reached: the next connection makes good for it.
        .catch(() => cache.invalidateQueries({ queryKey: transcriptQuery(stageId).queryKey }))
        .finally(() => pulling.delete(stageId));
    },
  };
}
