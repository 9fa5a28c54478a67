import type { FileDiff, StageId, ViewedFiles } from '@callboard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { viewedQuery } from '../../../data/review-queries.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

const NONE: Readonly<ViewedFiles> = {};

type Version = Pick<FileDiff, 'path' | 'version'>;

/** What this person has viewed of a stage's changes, on all their devices. The tick shows at once, and goes if the server refuses it. */
export function useViewed(stageId: StageId) {
  const cache = useQueryClient();
  const { queryKey } = viewedQuery(stageId);
  const viewed = useQuery(viewedQuery(stageId)).data ?? NONE;
  const command = useCommand({
    run: (file: { path: string; version: string | null }) => client.command('set_viewed', { stageId, ...file }),
    failed: 'The tick was not stored',
    done: (reply) => void cache.setQueryData(queryKey, reply.viewed),
  });
  return {
    isViewed: ({ path, version }: Version) => isSameVersion(viewed[path] ?? '', version),
    setViewed({ path, version }: Version, isViewed: boolean) {
      cache.setQueryData(queryKey, (old) => old && { ...old, [path]: isViewed ? version : '' });
      const back = () => void cache.invalidateQueries({ queryKey });
      command.mutate({ path, version: isViewed ? version : null }, { onError: back });
    },
  };
}

/** Whether a file that was viewed in one version counts as viewed in another: with the same content, whatever it is compared with. */
function isSameVersion(viewed: string, version: string): boolean {
  const [, content] = version.split('..');
  return version !== '' && (viewed === version || (content !== '' && viewed.split('..')[1] === content));
}
