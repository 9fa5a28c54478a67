import { commands, type PermissionRule, type ProjectId } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { call } from '../../../lib/api.ts';
import { rulesQuery } from '../../../live/rules.ts';
import { useCommand } from '../../../live/use-command.ts';

/** Takes a kept rule back. */
export function useTakeBack(projectId: ProjectId) {
  const cache = useQueryClient();
  return useCommand({
    run: ({ ruleId }: PermissionRule) =>
      call(`/api/rules/${encodeURIComponent(ruleId)}`, { method: 'DELETE', reply: commands.remove_rule.reply }),
    failed: ({ rule }) => `${rule} still holds`,
    done: ({ rule }) =>
      cache.setQueryData(
        rulesQuery(projectId).queryKey,
        (old) => old && { ...old, rules: old.rules.filter(({ ruleId }) => ruleId !== rule.ruleId) },
      ),
  });
}

/** Has the repository's own allow rules passed to Claude, or not. */
export const usePassRepositoryRules = (projectId: ProjectId) =>
  useCommand({
    run: (passRepositoryRules: boolean) =>
      call(`/api/projects/${projectId}`, {
        method: 'PATCH',
        body: { settings: { passRepositoryRules } },
        reply: commands.update_project.reply,
      }),
    failed: 'The setting was not changed',
  });
