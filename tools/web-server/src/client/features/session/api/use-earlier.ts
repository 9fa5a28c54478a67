import type { StageId } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { transcriptQuery } from '../../../live/queries.ts';
import { hasEarlier, joinTranscripts, loadBefore, type Transcript } from '../../../live/transcript.ts';
import { useCommand } from '../../../live/use-command.ts';

/** The entries before those that are loaded, a page at a time. */
export function useEarlier(stageId: StageId, transcript: Transcript) {
  const cache = useQueryClient();
  const first = transcript.entries[0]?.index ?? 1;
  const load = useCommand({
    run: (before: number) => loadBefore(stageId, before),
    failed: 'Earlier entries could not be read',
    done: (earlier) =>
      cache.setQueryData(transcriptQuery(stageId).queryKey, (old) => old && joinTranscripts(earlier, old)),
  });
  return {
    left: hasEarlier(transcript) ? first - 1 : 0,
    isLoading: load.isPending,
    failed: load.isError,
    load: () => {
      if (!load.isPending && hasEarlier(transcript)) load.mutate(first);
    },
  };
}
