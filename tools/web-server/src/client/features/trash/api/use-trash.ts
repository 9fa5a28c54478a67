import { commands, type TrashEntry } from '@callboard/contract';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { call } from '../../../lib/api.ts';
import { useCommand } from '../../../live/use-command.ts';

/** No event tells of it, so it is read whenever somebody looks. */
export const trashQuery = queryOptions({
  queryKey: ['trash'],
  staleTime: 0,
  queryFn: ({ signal }) => call('/api/trash', { reply: commands.get_trash.reply, signal }),
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
      call(`/api/trash/${entry.id}/restore`, {
        method: 'POST',
        body: folder.trim() === '' ? {} : { folder: folder.trim() },
        reply: commands.restore_trash.reply,
      }),
    done: () => void cache.invalidateQueries({ queryKey: trashQuery.queryKey }),
  });
}
