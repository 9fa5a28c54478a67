import type { BackgroundTask, Effort, PermissionMode, SessionSummary, StageId } from '@callboard/contract';
import { keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';
import { useCommand } from './use-command.tsx';

/** How often visible output is read. */
const OUTPUT_MS = 2_000;
/** No event reports when a server changes its state between turns. */
const MCP_MS = 10_000;

/** The output of a background command, kept up to date while it runs. */
export const taskOutputQuery = (stageId: StageId, taskId: string, isRunning: boolean) =>
  queryOptions({
    queryKey: ['task-output', stageId, taskId, isRunning],
    queryFn: ({ signal }) => client.command('get_task_output', { stageId, taskId }, { signal }),
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: isRunning ? OUTPUT_MS : false,
  });

/** Leaves a stage's conversation to a terminal, and copies the command if the browser lets it. Whoever asks shows the error. */
export const useContinueInTerminal = () =>
  useCommand({
    async run(order: { stageId: StageId; endTurn: boolean }) {
      const { command } = await client.command('continue_in_terminal', order);
      const isCopied = await writeClipboard(command);
      return { command, isCopied };
    },
  });

/** A browser may refuse this long after the click, or without https. */
async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Takes a stage's conversation back from a terminal. */
export const useWithdraw = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('take_back', { stageId }),
    failed: `${title} was not taken back`,
    stageId: (stageId) => stageId,
  });

/** Decides when a stage that stopped at a usage limit goes on. */
export const useResume = (title: string) =>
  useCommand({
    run: (order: { stageId: StageId; when: 'now' | 'at-reset' | 'never' }) => client.command('go_on', order),
    failed: `${title} still waits as before`,
    stageId: ({ stageId }) => stageId,
  });

/** Continues a stage once beyond its spent budget. */
export const useContinueBeyond = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('continue_beyond_budget', { stageId }),
    failed: `${title} still waits as before`,
    stageId: (stageId) => stageId,
  });

/** Stops a background task. Resolves when Claude Code confirms it. */
export function useStopTask(stageId: StageId) {
  return useCommand({
    run: (taskId: string) => client.command('stop_task', { stageId, taskId }),
    failed: 'The task was not stopped',
  });
}

/** Says of a background command whether the stage waits for it. */
export function useMarkTask(stageId: StageId) {
  return useCommand({
    run: ({ taskId, mark }: Pick<BackgroundTask, 'taskId' | 'mark'>) =>
      client.command('mark_task', { stageId, taskId, mark }),
    failed: 'The command was not marked',
  });
}

/** The MCP servers in full. `summary` is what the session says; a change reads the list again. */
export const mcpServersQuery = (stageId: StageId, summary: SessionSummary['mcpServers']) =>
  queryOptions({
    queryKey: ['mcp', stageId, summary],
    queryFn: async ({ signal }) => (await client.command('get_mcp_servers', { stageId }, { signal })).servers,
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: MCP_MS,
  });

/** Reconnects a server. Resolves when it is connected. */
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

// Claude Code confirms each of the following before it is answered.

export const useInterrupt = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('interrupt', { stageId }),
    failed: `${title} was not interrupted`,
  });

export const useSetMode = (stageId: StageId, title: string) =>
  useCommand({
    run: (mode: PermissionMode) => client.command('set_mode', { stageId, mode }),
    failed: `The mode of ${title} was not changed`,
  });

/** A model of null is the default model. */
export const useSetModel = (stageId: StageId, title: string) =>
  useCommand({
    run: (change: { model?: string | null; effort?: Effort }) => client.command('set_model', { stageId, ...change }),
    failed: `The model of ${title} was not changed`,
  });
