import type { TrashEntry } from '@callboard/contract';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.ts';
import { client } from '../../../lib/api-client.ts';

/** No event tells of it, so it is read whenever somebody looks. */
export const trashQuery = queryOptions({
  queryKey: ['trash'],
  staleTime: 0,
  queryFn: ({ signal }) => client.command('get_trash', {}, { signal }),
});

interface Restore {
  entry: TrashEntry;
  /** Empty: where it came from, or a folder of its own. */
  folder: string;
}

/** The caller tells of refusals. */
export function useRestore() {
  const cache = useQueryClient();
  return useCommand({
    run: ({ entry, folder }: Restore) =>
      client.command('restore_trash', { trashId: entry.id, folder: folder.trim() || undefined }),
    done: () => void cache.invalidateQueries({ queryKey: trashQuery.queryKey }),
  });
}
