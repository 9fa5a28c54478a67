import type { AdoptBody, ProjectId, StageId } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** Makes a stage of a conversation. */
export const useAdoptConversation = (projectId: ProjectId, done: (stageId: StageId) => void) =>
  useCommand({
    run: (order: AdoptBody) => client.command('adopt_conversation', { projectId, ...order }),
    done: ({ stage }) => done(stage.id),
  });

/** Makes stages of issues. */
export function useImportIssues(projectId: ProjectId, done: () => void) {
  const cache = useQueryClient();
  return useCommand({
    run: (numbers: readonly number[]) => client.command('import_issues', { projectId, numbers: [...numbers] }),
    done: () => {
      done();
      void cache.invalidateQueries({ queryKey: ['issues', projectId] });
    },
  });
}
