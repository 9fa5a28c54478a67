import type { BuildFolders, CommandReply, ProjectId } from '@callboard/contract';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** How often the sizes are asked for while they are being measured. */
const MEASURING_MS = 1_000;

/** The worktrees of a project. No event reports them, so they are read again on each visit. */
export const worktreesQuery = (projectId: ProjectId) =>
  queryOptions({
    queryKey: ['worktrees', projectId],
    queryFn: ({ signal }) => client.command('get_worktrees', { projectId }, { signal }),
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => (data?.isMeasuring === true ? MEASURING_MS : false),
  });

/** What a clean-up of a worktree would do now. */
export const cleanUpQuery = (projectId: ProjectId, name: string) =>
  queryOptions({
    queryKey: ['worktree-clean-up', projectId, name],
    queryFn: async ({ signal }) =>
      (await client.command('get_worktree_clean_up', { projectId, name }, { signal })).cleanUp,
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });

/** Cleans up worktrees, one after another, as far as they can be. The caller shows what did not work. */
export function useCleanWorktrees(projectId: ProjectId) {
  const cache = useQueryClient();
  const refresh = () => void cache.invalidateQueries({ queryKey: worktreesQuery(projectId).queryKey });
  return useCommand({
    run: async ({ names, buildFolders }: { names: readonly string[]; buildFolders: BuildFolders }) => {
      const cleaned: CommandReply<'clean_worktree'>[] = [];
      const failed: unknown[] = [];
      for (const name of names) {
        const input = { projectId, name, buildFolders };
        await client.command('clean_worktree', input).then(
          (reply) => cleaned.push(reply),
          (error: unknown) => failed.push(error),
        );
        refresh();
      }
      if (names.length === 1 && failed.length === 1) throw failed[0];
      return { cleaned, failed };
    },
  });
}
