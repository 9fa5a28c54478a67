import type { TrashEntry } from '@callboard/contract';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** The trash. No event reports its changes, so it is read again on each visit. */
export const trashQuery = queryOptions({
  queryKey: ['trash'],
  staleTime: 0,
  queryFn: ({ signal }) => client.command('get_trash', {}, { signal }),
});

interface Restore {
  entry: TrashEntry;
  /** Empty to restore to the original folder, or to a new one. */
  folder: string;
}

/** Restores an entry. The caller shows refusals. */
export function useRestore() {
  const cache = useQueryClient();
  return useCommand({
    run: ({ entry, folder }: Restore) =>
      client.command('restore_trash', { trashId: entry.id, folder: folder.trim() || undefined }),
    done: () => void cache.invalidateQueries({ queryKey: trashQuery.queryKey }),
  });
}
