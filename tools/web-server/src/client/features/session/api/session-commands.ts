import type { SessionSummary, StageId } from '@callboard/contract';
import { keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.ts';
import { client } from '../../../lib/api-client.ts';

/** How often output is read that somebody looks at. */
const OUTPUT_MS = 2_000;
/** No event tells when a server changes its state between turns. */
const MCP_MS = 10_000;

/** What a background command has printed, kept up to date as long as it runs. */
export const taskOutputQuery = (stageId: StageId, taskId: string, isRunning: boolean) =>
  queryOptions({
    queryKey: ['task-output', stageId, taskId, isRunning],
    queryFn: ({ signal }) => client.command('get_task_output', { stageId, taskId }, { signal }),
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: isRunning ? OUTPUT_MS : false,
  });

/** Stops a background task; resolves once Claude Code has confirmed it. */
export function useStopTask(stageId: StageId) {
  return useCommand({
    run: (taskId: string) => client.command('stop_task', { stageId, taskId }),
    failed: 'The task was not stopped',
  });
}

/** The MCP servers in full. `told`: what the session says of them, for a new look when that changes. */
export const mcpServersQuery = (stageId: StageId, told: SessionSummary['mcpServers']) =>
  queryOptions({
    queryKey: ['mcp', stageId, told],
    queryFn: async ({ signal }) => (await client.command('get_mcp_servers', { stageId }, { signal })).servers,
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: MCP_MS,
  });

/** Connects a server anew; resolves once it is connected. */
export function useReconnectMcp(stageId: StageId) {
  const queryClient = useQueryClient();
  return useCommand({
    run: async (name: string) => {
      try {
        return await client.command('reconnect_mcp_server', { stageId, name });
      } finally {
        void queryClient.invalidateQueries({ queryKey: ['mcp', stageId] });
      }
    },
    failed: (name) => `${name} is not connected`,
  });
}
