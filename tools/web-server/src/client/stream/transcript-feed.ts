import type { StageId } from '@callboard/contract';
import type { QueryClient } from '@tanstack/react-query';
import { transcriptQuery } from '../data/queries.ts';
import { recentEventsOf } from '../data/recent-events.ts';
import { joinTranscripts, lastIndex, loadAfter, withDecisions } from '../data/transcript-pages.ts';
import type { StreamStore } from './stream-store.ts';
import { dropBlocks } from './streaming-text.ts';

/** Fetches what was appended to open transcripts; many notifications become one request. */
export function createTranscriptFeed(cache: QueryClient, store: StreamStore) {
  const wanted = new Map<StageId, number>();
  const pulling = new Set<StageId>();

  async function pull(stageId: StageId): Promise<void> {
    const query = transcriptQuery(stageId);
    const { queryKey } = query;
    if (cache.getQueryState(queryKey) === undefined) return; // not open
    for (;;) {
      const last = lastIndex(await cache.ensureQueryData(query));
      if (last >= (wanted.get(stageId) ?? 0)) return;
      const more = await loadAfter(stageId, last);
      cache.setQueryData(
        queryKey,
        (old) => old && withDecisions(joinTranscripts(old, more), recentEventsOf(cache).decisions(stageId)),
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
        // The server did not answer: reload after the next connection.
        .catch(() => cache.invalidateQueries({ queryKey: transcriptQuery(stageId).queryKey }))
        .finally(() => pulling.delete(stageId));
    },
  };
}
