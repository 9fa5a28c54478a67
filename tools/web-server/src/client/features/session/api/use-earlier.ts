import type { StageId } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { transcriptQuery } from '../../../data/queries.ts';
import {
  hasEarlier,
  joinTranscripts,
  loadAllBefore,
  loadBefore,
  type Transcript,
} from '../../../data/transcript-pages.ts';
import { useCommand } from '../../../data/use-command.ts';

/** The entries before those that are loaded: a page at a time, or all of them. */
export function useEarlier(stageId: StageId, transcript: Transcript) {
  const cache = useQueryClient();
  const first = transcript.entries[0]?.index ?? 1;
  const load = useCommand({
    run: ({ before, all }: { before: number; all: boolean }) => (all ? loadAllBefore : loadBefore)(stageId, before),
    failed: 'Earlier entries could not be read',
    done: (earlier) =>
      cache.setQueryData(transcriptQuery(stageId).queryKey, (old) => old && joinTranscripts(earlier, old)),
  });
  const start = (all: boolean) => {
    if (!load.isPending && hasEarlier(transcript)) load.mutate({ before: first, all });
  };
  return {
    left: hasEarlier(transcript) ? first - 1 : 0,
    isLoading: load.isPending,
    failed: load.isError,
    load: () => start(false),
    loadAll: () => start(true),
  };
}
