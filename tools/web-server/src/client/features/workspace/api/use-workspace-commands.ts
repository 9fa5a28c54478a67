import type { StageId, StageView } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.tsx';
import { applyCommand, serversQuery } from '../../../data/workspace-queries.ts';
import { client } from '../../../lib/api-client.ts';

/** Starts a stage whose set-up or fetch did not succeed: again, or without that. */
export const useStartAnyway = ({ id, title }: Pick<StageView, 'id' | 'title'>) =>
  useCommand({
    run: (how: { withoutSetup?: boolean; withoutFetch?: boolean }) =>
      client.command('start_stage', { stageId: id, ...how }),
    failed: `${title} was not started`,
    stageId: () => id,
  });

/** Runs the set-up or the clean-up of a worktree. */
export function useRunCommand(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: (kind: 'setup' | 'cleanup') => client.command('run_stage_command', { stageId, kind }),
    failed: (kind) => (kind === 'setup' ? 'The set-up was not run' : 'The clean-up was not run'),
    stageId: () => stageId,
    done: ({ command }) => applyCommand(cache, command),
  });
}

/** Opens the worktree in an editor on the machine of the orchestrator. */
export const useOpenInEditor = (stageId: StageId) =>
  useCommand({
    run: () => client.command('open_in_editor', { stageId }),
    failed: 'The worktree was not opened',
    stageId: () => stageId,
  });

/** Stops a run. Resolves when all its processes are gone. */
export function useStopCommand(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: (commandId: string) => client.command('stop_command', { stageId, commandId }),
    failed: 'It was not stopped',
    stageId: () => stageId,
    done: ({ command }) => applyCommand(cache, command),
  });
}

/** Starts or stops a dev server. */
export function useServerSwitch(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: ({ name, on }: { name: string; on: boolean }) =>
      client.command(on ? 'start_server' : 'stop_server', { stageId, name }),
    failed: ({ name, on }) => `${name} was not ${on ? 'started' : 'stopped'}`,
    stageId: () => stageId,
    done: ({ server }) => {
      if (server.run !== null) applyCommand(cache, server.run);
      void cache.invalidateQueries({ queryKey: serversQuery(stageId).queryKey });
    },
  });
}
