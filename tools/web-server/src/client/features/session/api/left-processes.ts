import type { StageId } from '@callboard/contract';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.ts';
import { client } from '../../../lib/api-client.ts';

/** No event tells when one of them ends by itself. */
const LOOK_MS = 5_000;

/** What a session's ended processes have left running. `told`: what the session says of it, for a new look when that changes. */
export const leftProcessesQuery = (stageId: StageId, told: number) =>
  queryOptions({
    queryKey: ['processes', stageId, told],
    queryFn: async ({ signal }) => (await client.command('get_leftovers', { stageId }, { signal })).processes,
    enabled: told > 0,
    staleTime: 0,
    refetchInterval: LOOK_MS,
  });

export function useEndProcesses(stageId: StageId) {
  const queryClient = useQueryClient();
  const look = () => void queryClient.invalidateQueries({ queryKey: ['processes', stageId] });
  return useCommand({
    run: async (pids: readonly number[]) => {
      try {
        return await client.command('end_leftovers', { stageId, pids: [...pids] });
      } finally {
        look();
      }
    },
    failed: 'The processes were not ended',
  });
}
