import type { MachineId } from '@callboard/contract';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** Load and memory have no event, so they are read again now and then while somebody looks. */
const READ_AGAIN_MS = 5_000;

/** The machines with their load, and the one that answers. */
export const machinesQuery = queryOptions({
  queryKey: ['machines'],
  staleTime: 0,
  refetchInterval: READ_AGAIN_MS,
  queryFn: ({ signal }) => client.command('get_machines', {}, { signal }),
});

/** Declares a machine lost. The caller shows refusals. */
export function useDeclareLost() {
  const cache = useQueryClient();
  return useCommand({
    run: (machineId: MachineId) => client.command('declare_machine_lost', { machineId }),
    done: () => void cache.invalidateQueries({ queryKey: machinesQuery.queryKey }),
  });
}

/** Takes a lost machine off the list. The caller shows refusals. */
export function useRemoveMachine() {
  const cache = useQueryClient();
  return useCommand({
    run: (machineId: MachineId) => client.command('remove_machine', { machineId }),
    done: () => void cache.invalidateQueries({ queryKey: machinesQuery.queryKey }),
  });
}
