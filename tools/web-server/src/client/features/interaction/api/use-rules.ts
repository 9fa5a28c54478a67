import type { PermissionRule, ProjectId } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { rulesQuery } from '../../../data/queries.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** Removes a kept rule. */
export function useRemoveRule(projectId: ProjectId) {
  const cache = useQueryClient();
  return useCommand({
    run: ({ ruleId }: PermissionRule) => client.command('remove_rule', { ruleId }),
    failed: ({ rule }) => `${rule} still holds`,
    done: () => cache.invalidateQueries({ queryKey: rulesQuery(projectId).queryKey }),
  });
}
