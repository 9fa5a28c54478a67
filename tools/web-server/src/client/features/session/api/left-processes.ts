import { commands, type StageId } from '@callboard/contract';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { call } from '../../../lib/api.ts';
import { useCommand } from '../../../live/use-command.ts';

/** No event tells when one of them ends by itself. */
const LOOK_MS = 5_000;

/** What a session's ended processes have left running. `told`: what the session says of it, for a new look when that changes. */
export const leftProcessesQuery = (stageId: StageId, told: number) =>
  queryOptions({
    queryKey: ['processes', stageId, told],
    queryFn: async ({ signal }) =>
      (await call(`/api/sessions/${stageId}/processes`, { reply: commands.get_leftovers.reply, signal })).processes,
    enabled: told > 0,
    staleTime: 0,
    refetchInterval: LOOK_MS,
  });

export function useEndProcesses(stageId: StageId) {
  const queryClient = useQueryClient();
  const look = () => void queryClient.invalidateQueries({ queryKey: ['processes', stageId] });
  return useCommand({
    run: async (pids: readonly number[]) => {
      const body = { pids };
      const reply = commands.end_leftovers.reply;
      try {
        return await call(`/api/sessions/${stageId}/processes/end`, { method: 'POST', body, reply });
      } finally {
        look();
      }
    },
    failed: 'The processes were not ended',
  });
}
