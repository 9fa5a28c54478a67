import { commands, type PermissionRule, type ProjectId } from '@callboard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../../../lib/api.ts';
import { boardQuery } from '../../../live/queries.ts';
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

/** A choice of the project about what its repository brings along: how it is, and the command that changes it. */
export function useProjectSetting(projectId: ProjectId, name: 'passRepositoryRules' | 'runRepositoryHooks') {
  const { data: isOn = false } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === projectId)?.settings[name],
  });
  const change = useCommand({
    run: (on: boolean) =>
      call(`/api/projects/${projectId}`, {
        method: 'PATCH',
        body: { settings: { [name]: on } },
        reply: commands.update_project.reply,
      }),
    failed: 'The setting was not changed',
  });
  return [isOn, change] as const;
}
